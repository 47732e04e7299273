package validate

import (
	"fmt"

	"github.com/hashicorp/nomad/api"
)

// shutdownDelays advises on services whose tasks stop at the moment in which they
// leave the catalog: requests that are on their way fail. A delay of 0 that is
// written is an answer.
func (g *group) shutdownDelays() {
	named := map[string]bool{}
	anyTask, delayed := false, g.tg.ShutdownDelay != nil
	for i, s := range g.tg.Services {
		s := orEmpty(s)
		switch {
		case s.TaskName != "":
			named[s.TaskName] = true
		case s.Connect != nil && s.Connect.SidecarTask != nil:
			if s.Connect.SidecarTask.ShutdownDelay == nil {
				g.hint(g.at.Index("service", i).Attr("connect").Attr("sidecar_task"), "sidecar has no shutdown_delay",
					fmt.Sprintf("service %q may lose requests when it stops", s.Name), shutdownHint)
			}
		default:
			anyTask = true
		}
	}
	for i, t := range g.tg.Tasks {
		t := orEmpty(t)
		_, own := g.written[g.at.Index("task", i).Attr("shutdown_delay")]
		own = own || t.ShutdownDelay != 0
		delayed = delayed || own
		if !own && (named[t.Name] || len(t.Services) > 0) {
			g.hint(g.at.Index("task", i), "task with a service has no shutdown_delay",
				fmt.Sprintf("%s may lose requests when task %q stops", servicesOf(t, named), t.Name), shutdownHint)
		}
	}
	if anyTask && !delayed {
		g.hint(g.at, "group with a service has no shutdown_delay", fmt.Sprintf("its services may lose requests when group %q stops", g.name), shutdownHint)
	}
}

const shutdownHint = `add shutdown_delay = "5s" or the like`

func servicesOf(t *api.Task, named map[string]bool) string {
	if named[t.Name] && len(t.Services) == 0 {
		return "the group's service"
	}
	return "its service"
}
