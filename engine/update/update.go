// Package update decides how a new version of a job affects the running
// allocations: which ones it leaves alone, changes in place, replaces, stops or
// adds, and in which order, by the rules of the update block. It only decides.
//
// The rules are those of Nomad's scheduler for a single node.
package update

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/health"
)

// Group is what happens at once with the allocations of a group. Indexes are in
// ascending order. Ignore includes those that have to wait.
type Group struct {
	Name                                          string
	Kind                                          Kind
	Ignore, InPlace, Replace, Place, Stop, Canary []int
}

// Plan is the effect of a new version of a job.
type Plan struct {
	Version uint64 // number of the new version
	Diff    *api.JobDiff
	Groups  []Group // of both versions, by name, except removed ones without allocations
}

// New compares two canonicalized versions of a job and returns the first
// effects of the step to the second; before is nil if the job is not running.
// version returns the versions of places. New changes no job.
func New(before, after *api.Job, version func(uint64) *api.Job, places []Place) *Plan {
	p := &Plan{Diff: Diff(before, after)}
	next := *after
	switch {
	case before == nil:
		next.Version = new(uint64(0))
	case p.Diff.Type == none:
		next.Version = before.Version
	default:
		next.Version = new(*before.Version + 1)
	}
	p.Version = *next.Version
	r := &Rollout{Job: &next, Version: version, Places: places}
	if p.Diff.Type != none {
		r.Deployment = Begin(&next, version, places, false, time.Time{})
	}
	orders, _ := r.Next()
	for _, d := range p.Diff.TaskGroups {
		g := r.group(d.Name, orders)
		if before != nil && groupNamed(before, d.Name) != nil && groupNamed(after, d.Name) != nil {
			g.Kind = Ignore
			if p.Diff.Type != none {
				g.Kind = kindOfGroup(before, after, groupNamed(before, d.Name), groupNamed(after, d.Name))
			}
		}
		annotate(d, before, after)
		if groupNamed(after, d.Name) == nil && len(g.Stop) == 0 {
			continue // of this group, there is nothing left to do
		}
		p.Groups = append(p.Groups, g)
		d.Updates = g.updates()
	}
	return p
}

// Begin returns the deployment of a new version of a job, or nil if it has none. A
// version that is proven needs no canaries.
func Begin(job *api.Job, version func(uint64) *api.Job, places []Place, proven bool, now time.Time) *health.Deployment {
	r := &Rollout{Job: job, Version: version, Places: places, kinds: map[kindKey]Kind{}}
	return r.begin(proven, now)
}

func (r *Rollout) begin(proven bool, now time.Time) *health.Deployment {
	d := health.NewDeployment(r.Job, now)
	if d == nil {
		return nil
	}
	for _, p := range r.Places {
		g := d.Groups[p.Group]
		if g == nil || p.Canary || r.isFree(p) {
			continue
		}
		switch kind := r.kindOf(p.Group, p.Version); {
		case kind != Destructive && p.State != Living && p.Index < *r.Job.LookupTaskGroup(p.Group).Count:
			g.Desired-- // it stays as it is
		case kind == Destructive && !proven && *r.Job.Type != api.JobTypeSystem: // there is no other node for a canary
			d.SetCanaries(p.Group, *r.Job.LookupTaskGroup(p.Group).Update.Canary)
		}
	}
	maps.DeleteFunc(d.Groups, func(_ string, g *health.DeploymentGroup) bool { return g.Desired == 0 })
	if len(d.Groups) == 0 {
		return nil
	}
	return d
}

// ofJob lists the settings of a job that are shown elsewhere, or are none of a job file.
var ofJob = slices.Concat(ofServer, handedDown, []string{"ID", "TaskGroups"})

// Diff returns the differences between two canonicalized versions of a job;
// before is nil if there was none.
func Diff(before, after *api.Job) *api.JobDiff {
	d := &api.JobDiff{ID: *after.ID}
	d.Fields, d.Objects = diffBlocks(before, after, ofJob...)
	changed := before != nil && len(changes(jobValues(before), jobValues(after))) > 0
	for _, name := range slices.Sorted(slices.Values(groupNames(before, after))) {
		g := diffGroup(before, after, name)
		changed = changed || g.Type != none
		d.TaskGroups = append(d.TaskGroups, g)
	}
	d.Type = kindOf(before != nil, true, changed)
	return d
}

// Same reports whether two versions of a job are the same.
func Same(a, b *api.Job) bool { return Diff(a, b).Type == none }

func diffGroup(before, after *api.Job, name string) *api.TaskGroupDiff {
	was, is := groupNamed(before, name), groupNamed(after, name)
	d := &api.TaskGroupDiff{Name: name}
	d.Fields, d.Objects = diffBlocks(was, is, slices.Concat(superseded, []string{"Name", "Tasks"})...)
	changed := was != nil && is != nil && len(changes(groupValues(was), groupValues(is))) > 0
	changed = changed || was != nil && is != nil && !slices.Equal(taskNames(was), taskNames(is)) // their order counts, too
	names := slices.Concat(taskNames(was), taskNames(is))
	slices.Sort(names)
	for _, task := range slices.Compact(names) {
		old, t := taskNamed(was, task), taskNamed(is, task)
		td := &api.TaskDiff{Name: task}
		without := []string{"Name"}
		if inheritsRestart(was, old) && inheritsRestart(is, t) {
			without = append(without, "RestartPolicy") // the group shows it
		}
		td.Fields, td.Objects = diffBlocks(old, t, without...)
		td.Type = kindOf(old != nil, t != nil, old != nil && t != nil && len(changes(valuesOf(old), valuesOf(t))) > 0)
		changed = changed || td.Type != none
		d.Tasks = append(d.Tasks, td)
	}
	d.Type = kindOf(was != nil, is != nil, changed)
	return d
}

// annotate notes in a difference what it does to allocations.
func annotate(d *api.TaskGroupDiff, before, after *api.Job) {
	was, is := groupNamed(before, d.Name), groupNamed(after, d.Name)
	for _, f := range d.Fields {
		if f.Name == "Count" && countOf(was) != countOf(is) {
			f.Annotations = []string{map[bool]string{true: "forces create", false: "forces destroy"}[countOf(is) > countOf(was)]}
		}
	}
	for _, td := range d.Tasks {
		old, t := taskNamed(was, td.Name), taskNamed(is, td.Name)
		switch {
		case td.Type == none:
		case was == nil:
			td.Annotations = []string{"forces create"}
		case is == nil:
			td.Annotations = []string{"forces destroy"}
		case old == nil || t == nil || taskBreaks(before, after, was, is, old, t):
			td.Annotations = []string{"forces create/destroy update"}
		default:
			td.Annotations = []string{"forces in-place update"}
		}
	}
}

// countOf returns the count of a group; that of one that does not exist is 0.
func countOf(g *api.TaskGroup) int {
	if g == nil {
		return 0
	}
	return *g.Count
}

func inheritsRestart(g *api.TaskGroup, t *api.Task) bool {
	return t == nil || reflect.DeepEqual(t.RestartPolicy, g.RestartPolicy)
}

// group counts the effects of orders on a group.
func (r *Rollout) group(name string, orders []Order) Group {
	g := Group{Name: name, Kind: Destructive}
	ordered := map[int]bool{}
	for _, o := range orders {
		if o.Group != name {
			continue
		}
		if o.Action != Start {
			ordered[o.At] = true
		}
		list := map[Action]*[]int{Replace: &g.Replace, Reschedule: &g.Place, Change: &g.InPlace, Start: &g.Place, Stop: &g.Stop, Promote: &g.Ignore}[o.Action]
		switch {
		case o.Action == Start && o.Canary:
			list = &g.Canary
		case o.Action == Replace && r.isForgotten(r.Places[o.At]):
			list = &g.Place
		case o.Action == Stop && r.Places[o.At].State == Over:
			continue
		case o.Action == Change && r.Places[o.At].State != Living:
			list = &g.Ignore
		}
		*list = append(*list, o.Index)
	}
	for i, p := range r.Places {
		if p.Group == name && !ordered[i] {
			g.Ignore = append(g.Ignore, p.Index)
		}
	}
	for _, list := range [][]int{g.Ignore, g.InPlace, g.Replace, g.Place, g.Stop, g.Canary} {
		slices.Sort(list)
	}
	return g
}

// updates returns the counts by Nomad's names.
func (g Group) updates() map[string]uint64 {
	all := map[string]uint64{}
	for name, list := range map[string][]int{
		"ignore": g.Ignore, "in-place update": g.InPlace, "create/destroy update": g.Replace, "create": g.Place, "destroy": g.Stop,
		"canary": g.Canary,
	} {
		if len(list) > 0 {
			all[name] = uint64(len(list))
		}
	}
	return all
}

// Annotations returns the counts in the form of Nomad's API.
func (p *Plan) Annotations() *api.PlanAnnotations {
	a := &api.PlanAnnotations{DesiredTGUpdates: map[string]*api.DesiredUpdates{}}
	for _, g := range p.Groups {
		a.DesiredTGUpdates[g.Name] = &api.DesiredUpdates{
			Ignore: uint64(len(g.Ignore)), Place: uint64(len(g.Place)), Stop: uint64(len(g.Stop)),
			InPlaceUpdate: uint64(len(g.InPlace)), DestructiveUpdate: uint64(len(g.Replace)), Canary: uint64(len(g.Canary)),
		}
	}
	return a
}
