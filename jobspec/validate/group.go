package validate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

const minDiskMB = 10

// group is the checker inside one group.
type group struct {
	*checker
	tg    *api.TaskGroup
	name  string
	at    jobspec.Path
	ports portNames
}

func newGroup(c *checker, tg *api.TaskGroup, at jobspec.Path) *group {
	return &group{checker: c, tg: tg, name: deref(tg.Name), at: at, ports: newPortNames(tg)}
}

func (g *group) check() {
	g.basics()
	g.placement(g.tg.Constraints, g.tg.Affinities, g.tg.Spreads, g.at)
	g.groupRestart()
	g.reschedule()
	g.update()
	g.migrate()
	g.disconnect()
	g.scaling()
	g.volumes()
	g.networks()
	g.services()
	g.shutdownDelays()
	g.interpolations()
	g.tasks()
}

func (g *group) basics() {
	switch {
	case g.name == "":
		g.refuse(g.at, "group has no name", "", `name it in the header: group "NAME" { … }`)
	case strings.Contains(g.name, "\x00"):
		g.refuse(g.at, "group name contains a NUL character", fmt.Sprintf("%q", g.name), "")
	}
	switch n := deref(g.tg.Count); {
	case n < 0:
		g.refuse(g.at.Attr("count"), "count is negative", fmt.Sprintf("it is %d", n), "write 0 or more")
	case n > 1 && g.kind == api.JobTypeSystem:
		g.refuse(g.at.Attr("count"), "a system job runs one allocation of a group", fmt.Sprintf("count is %d", n), "write 1 or remove it")
	}
	g.notNegative(g.at.Attr("shutdown_delay"), "shutdown_delay", g.tg.ShutdownDelay)
	if d := g.tg.MaxRunDuration; d != nil {
		if *d <= 0 {
			g.refuse(g.at.Attr("max_run_duration"), "max_run_duration is not positive", fmt.Sprintf("it is %s", plain(*d)), "write a time above 0")
		}
		if !g.mayBe(api.JobTypeBatch, api.JobTypeSysbatch) {
			g.refuse(g.at.Attr("max_run_duration"), "max_run_duration is for batch jobs", fmt.Sprintf("the job's type is %q", g.kind), "remove it")
		}
	}
	if disk := g.tg.EphemeralDisk; disk != nil && deref(disk.SizeMB) < minDiskMB {
		g.refuse(g.at.Attr("ephemeral_disk").Attr("size"), "ephemeral disk is too small",
			fmt.Sprintf("it has %d MB", deref(disk.SizeMB)), fmt.Sprintf("write %d or more", minDiskMB))
	}
	g.ignoredDisconnect()
}

// ignoredDisconnect warns of the attributes that the disconnect block replaced.
func (g *group) ignoredDisconnect() {
	if g.tg.MaxClientDisconnect != nil {
		g.hint(g.at.Attr("max_client_disconnect"), "max_client_disconnect has no effect", "", "write disconnect { lost_after = … }")
	}
	if g.tg.StopAfterClientDisconnect != nil {
		g.hint(g.at.Attr("stop_after_client_disconnect"), "stop_after_client_disconnect has no effect", "", "write disconnect { stop_on_client_after = … }")
	}
	if g.tg.PreventRescheduleOnLost != nil {
		g.hint(g.at.Attr("prevent_reschedule_on_lost"), "prevent_reschedule_on_lost has no effect", "", "write disconnect { replace = … }")
	}
}

// tasks checks every task and what holds between them.
func (g *group) tasks() {
	if len(g.tg.Tasks) == 0 {
		if g.hasGateway() {
			g.warn(g.at, "group has no task of its own", "a Nomad server adds the proxy of its gateway", "")
			return
		}
		g.refuse(g.at, "group has no task", "", `add task "NAME" { driver = … }`)
		return
	}
	first := make(map[string]int, len(g.tg.Tasks))
	var leader *api.Task
	mains := 0
	for i, t := range g.tg.Tasks {
		t, at := orEmpty(t), g.at.Index("task", i)
		if other, ok := first[t.Name]; ok && t.Name != "" {
			g.refuse(at, fmt.Sprintf("task %q is defined twice", t.Name),
				fmt.Sprintf("tasks %d and %d of group %q have the same name", other+1, i+1, g.name), "rename one of them")
		} else {
			first[t.Name] = i
		}
		if t.Leader && leader != nil {
			g.refuse(at.Attr("leader"), "a group has one leader", fmt.Sprintf("task %q leads group %q already", leader.Name, g.name), "remove it from one of them")
		} else if t.Leader {
			leader = t
		}
		if t.Lifecycle == nil {
			mains++
		}
		(&task{checker: g.checker, g: g, t: t, at: at}).check()
	}
	if mains == 0 {
		g.refuse(g.at, "group has no main task", "every task of it has a lifecycle block", "remove the lifecycle block of the task that does the work")
	}
}

// hasTask reports whether the group has a task of that name.
func (g *group) hasTask(name string) bool {
	return slices.ContainsFunc(g.tg.Tasks, func(t *api.Task) bool { return t != nil && t.Name == name })
}

func (g *group) taskNames() []string {
	names := make([]string, 0, len(g.tg.Tasks))
	for _, t := range g.tg.Tasks {
		names = append(names, orEmpty(t).Name)
	}
	return names
}

func (c *checker) notNegative(at jobspec.Path, name string, d *time.Duration) {
	if deref(d) < 0 {
		c.refuse(at, name+" is negative", fmt.Sprintf("it is %s", plain(*d)), "write 0s or more")
	}
}
