package validate

import (
	"fmt"

	"github.com/hashicorp/nomad/api"
)

// shutdownDelays warns of services whose tasks are stopped at the moment in which
// they are taken out of the catalog: requests that are on their way fail.
func (g *group) shutdownDelays() {
	named := map[string]bool{}
	anyTask, delayed := false, deref(g.tg.ShutdownDelay) > 0
	for i, s := range g.tg.Services {
		s := orEmpty(s)
		switch {
		case s.TaskName != "":
			named[s.TaskName] = true
		case s.Connect != nil && s.Connect.SidecarTask != nil:
			if s.Connect.SidecarTask.ShutdownDelay == nil {
				g.warn(g.at.Index("service", i).Attr("connect").Attr("sidecar_task"), "sidecar has no shutdown_delay",
					fmt.Sprintf("service %q may lose requests when it stops", s.Name), shutdownHint)
			}
		default:
			anyTask = true
		}
	}
	for i, t := range g.tg.Tasks {
		t := orEmpty(t)
		delayed = delayed || t.ShutdownDelay > 0
		if t.ShutdownDelay == 0 && (named[t.Name] || len(t.Services) > 0) {
			g.warn(g.at.Index("task", i), "task with a service has no shutdown_delay",
				fmt.Sprintf("%s may lose requests when task %q stops", servicesOf(t, named), t.Name), shutdownHint)
		}
	}
	if anyTask && !delayed {
		g.warn(g.at, "group with a service has no shutdown_delay", fmt.Sprintf("its services may lose requests when group %q stops", g.name), shutdownHint)
	}
}

const shutdownHint = `add shutdown_delay = "5s" or the like`

func servicesOf(t *api.Task, named map[string]bool) string {
	if named[t.Name] && len(t.Services) == 0 {
		return "the group's service"
	}
	return "its service"
}
