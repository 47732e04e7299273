package validate

import (
	"fmt"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

func (g *group) check() {
	g.basics()
	g.placement(g.tg.Constraints, g.tg.Affinities, g.tg.Spreads, g.at)
	if p := g.tg.RestartPolicy; p != nil {
		g.restart(p, g.at.Attr("restart"), jobspec.Error)
	}
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

const minDiskMB = 10

func (g *group) basics() {
	switch {
	case g.name == "":
		g.refuse(g.at, "group has no name", "", `name it in the header: group "NAME" { … }`)
	case strings.Contains(g.name, "\x00"):
		g.refuse(g.at, "group name contains a NUL character", fmt.Sprintf("%q", g.name), "")
	}
	g.notBelowZero(g.at.Attr("count"), deref(g.tg.Count))
	if n := deref(g.tg.Count); n > 1 && g.kind == api.JobTypeSystem {
		g.refuse(g.at.Attr("count"), "a system job runs one allocation of a group", fmt.Sprintf("count is %d", n), "write 1 or remove it")
	}
	g.notNegative(g.at.Attr("shutdown_delay"), g.tg.ShutdownDelay)
	if d := g.tg.MaxRunDuration; d != nil {
		g.positive(g.at.Attr("max_run_duration"), *d)
		g.isFor(g.at.Attr("max_run_duration"), "max_run_duration is for batch jobs", "remove it", api.JobTypeBatch, api.JobTypeSysbatch)
	}
	if disk := g.tg.EphemeralDisk; disk != nil && deref(disk.SizeMB) < minDiskMB {
		g.wrong(g.at.Attr("ephemeral_disk").Attr("size"), "ephemeral disk is too small",
			fmt.Sprintf("it has %d MB", deref(disk.SizeMB)), fmt.Sprintf("write %d or more", minDiskMB))
	}
	g.noEffect(g.at.Attr("max_client_disconnect"), g.tg.MaxClientDisconnect != nil, "write disconnect { lost_after = … }")
	g.noEffect(g.at.Attr("stop_after_client_disconnect"), g.tg.StopAfterClientDisconnect != nil, "write disconnect { stop_on_client_after = … }")
	g.noEffect(g.at.Attr("prevent_reschedule_on_lost"), deref(g.tg.PreventRescheduleOnLost), "write disconnect { replace = … }")
}

func (g *group) disconnect() {
	d := g.tg.Disconnect
	if d == nil {
		return
	}
	at := g.at.Attr("disconnect")
	g.notNegative(at.Attr("lost_after"), d.LostAfter)
	g.notNegative(at.Attr("stop_on_client_after"), d.StopOnClientAfter)
	if d.StopOnClientAfter != nil {
		g.isFor(at.Attr("stop_on_client_after"), "stop_on_client_after is for service and batch jobs", "remove it", api.JobTypeService, api.JobTypeBatch)
		if deref(d.LostAfter) != 0 {
			g.refuse(at, "lost_after and stop_on_client_after exclude each other", "", "keep one of them")
		}
	}
	g.choice(at.Attr("reconcile"), "reconcile strategy", deref(d.Reconcile), "",
		api.ReconcileOptionKeepOriginal, api.ReconcileOptionKeepReplacement, api.ReconcileOptionBestScore, api.ReconcileOptionLongestRunning)
}

// scaling checks the limits of a group's count. The content of task scaling
// blocks is up to the autoscaler.
func (g *group) scaling() {
	s := g.tg.Scaling
	if s == nil {
		return
	}
	at, count := g.at.Attr("scaling"), int64(deref(g.tg.Count))
	if g.kind == api.JobTypeSystem {
		g.refuse(at, "a system job does not scale", "it runs once on every node", "remove the block")
	}
	if s.Type != "" {
		g.choice(at.Attr("type"), "scaling type of a group", s.Type, api.ScalingPolicyTypeHorizontal)
	}
	least := deref(s.Min)
	g.notBelowZero(at.Attr("min"), int(least))
	switch {
	case s.Max == nil || *s.Max < 0:
		g.refuse(at.Attr("max"), "scaling has no max", "", "add max = …, 0 or more")
	case *s.Max < least:
		g.refuse(at.Attr("max"), "max is below min", fmt.Sprintf("max is %d and min is %d", *s.Max, least), "raise max or lower min")
	case count > *s.Max:
		g.refuse(at.Attr("max"), "count is above max", fmt.Sprintf("count is %d and max is %d", count, *s.Max), "raise max or lower count")
	case count >= 0 && count < least:
		g.refuse(at.Attr("min"), "count is below min", fmt.Sprintf("count is %d and min is %d", count, least), "lower min or raise count")
	}
}

// tasks checks every task, and the rules between tasks.
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
			g.refuse(at.Attr("leader"), "a group has one leader", fmt.Sprintf("task %q is already the leader of group %q", leader.Name, g.name), "remove it from one of them")
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
