// Package update decides what another version of a job means for what runs:
// which allocations are left alone, changed in place, replaced, stopped or
// added. It does nothing of that.
//
// The rules are those of Nomad's scheduler for a single node.
package update

import (
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// Alloc is an allocation of the old version that takes up its place: the last
// one of its index.
type Alloc struct {
	Group string
	Index int
	Done  bool // it has ended, and will not be replaced
}

// Group is what is to happen with the allocations of a group, by their indexes
// in ascending order.
type Group struct {
	Name                                  string
	Kind                                  Kind
	Ignore, InPlace, Replace, Place, Stop []int
}

// Plan is what another version of a job means.
type Plan struct {
	Diff   *api.JobDiff
	Groups []Group // in the order of the new version, then those that are gone
}

// New compares two versions of a job, both canonicalised; before is nil when
// the job does not run. Neither is changed.
func New(before, after *api.Job, present []Alloc) *Plan {
	fields := diff(jobValues(before), jobValues(after))
	p := &Plan{Diff: &api.JobDiff{ID: *after.ID, Fields: fields}}
	changed := len(fields) > 0
	for _, name := range groupNames(before, after) {
		d := diffGroup(before, after, name)
		changed = changed || d.Type != none
		p.Diff.TaskGroups = append(p.Diff.TaskGroups, d)
	}
	p.Diff.Type = kindOf(before != nil, true, changed)
	for i, name := range groupNames(before, after) {
		g := decide(before, after, name, changed, present)
		p.Groups = append(p.Groups, g)
		p.Diff.TaskGroups[i].Updates = g.updates()
	}
	return p
}

// groupNames are those of both versions.
func groupNames(before, after *api.Job) (names []string) {
	for _, job := range []*api.Job{after, before} {
		if job == nil {
			continue
		}
		for _, g := range job.TaskGroups {
			if !slices.Contains(names, *g.Name) {
				names = append(names, *g.Name)
			}
		}
	}
	return names
}

func groupNamed(job *api.Job, name string) *api.TaskGroup {
	if job == nil {
		return nil
	}
	return job.LookupTaskGroup(name)
}

func diffGroup(before, after *api.Job, name string) *api.TaskGroupDiff {
	was, is := groupNamed(before, name), groupNamed(after, name)
	d := &api.TaskGroupDiff{Name: name, Fields: diff(groupValues(was), groupValues(is))}
	changed := len(d.Fields) > 0
	var names []string
	for _, g := range []*api.TaskGroup{is, was} {
		if g == nil {
			continue
		}
		for _, t := range g.Tasks {
			if !slices.Contains(names, t.Name) {
				names = append(names, t.Name)
			}
		}
	}
	for _, task := range names {
		old, t := taskNamed(was, task), taskNamed(is, task)
		td := &api.TaskDiff{Name: task, Fields: diff(taskValues(old), taskValues(t))}
		td.Type = kindOf(old != nil, t != nil, len(td.Fields) > 0)
		switch {
		case td.Type == none:
		case old == nil || t == nil:
			td.Annotations = []string{map[bool]string{true: "forces create", false: "forces destroy"}[t != nil]}
		case taskBreaks(before, after, was, is, old, t):
			td.Annotations = []string{"forces create/destroy update"}
		default:
			td.Annotations = []string{"forces in-place update"}
		}
		changed = changed || td.Type != none
		d.Tasks = append(d.Tasks, td)
	}
	d.Type = kindOf(was != nil, is != nil, changed)
	for _, f := range d.Fields {
		if f.Name == "Count" && d.Type == edited {
			f.Annotations = []string{map[bool]string{true: "forces create", false: "forces destroy"}[*is.Count > *was.Count]}
		}
	}
	return d
}

// decide returns what is to happen with a group. Changed tells whether anything
// of the job has changed.
func decide(before, after *api.Job, name string, changed bool, present []Alloc) Group {
	was, is := groupNamed(before, name), groupNamed(after, name)
	g := Group{Name: name}
	switch {
	case was == nil || is == nil:
		g.Kind = Destructive
	case changed:
		g.Kind = kindOfGroup(before, after, was, is)
	}
	count := 0
	if is != nil && !after.IsPeriodic() && !after.IsParameterized() {
		count = Count(after, is)
	}
	taken := make([]bool, count)
	for _, a := range present {
		switch {
		case a.Group != name:
		case a.Index >= count:
			if !a.Done {
				g.Stop = append(g.Stop, a.Index)
			}
		case a.Done && changed: // a changed job runs again in full
		case a.Done, g.Kind == Ignore:
			g.Ignore, taken[a.Index] = append(g.Ignore, a.Index), true
		case g.Kind == InPlace:
			g.InPlace, taken[a.Index] = append(g.InPlace, a.Index), true
		default:
			g.Replace, taken[a.Index] = append(g.Replace, a.Index), true
		}
	}
	for i, t := range taken {
		if !t {
			g.Place = append(g.Place, i)
		}
	}
	for _, list := range [][]int{g.Ignore, g.InPlace, g.Replace, g.Stop} {
		slices.Sort(list)
	}
	return g
}

// Count is how many allocations a group has on one node.
func Count(job *api.Job, g *api.TaskGroup) int {
	if strings.HasPrefix(*job.Type, "sys") {
		return min(*g.Count, 1)
	}
	return *g.Count
}

// updates are the numbers by Nomad's names.
func (g Group) updates() map[string]uint64 {
	all := map[string]uint64{}
	for name, list := range map[string][]int{
		"ignore": g.Ignore, "in-place update": g.InPlace, "create/destroy update": g.Replace, "create": g.Place, "destroy": g.Stop,
	} {
		if len(list) > 0 {
			all[name] = uint64(len(list))
		}
	}
	return all
}

// Annotations are the numbers as Nomad's clients read them.
func (p *Plan) Annotations() *api.PlanAnnotations {
	a := &api.PlanAnnotations{DesiredTGUpdates: map[string]*api.DesiredUpdates{}}
	for _, g := range p.Groups {
		a.DesiredTGUpdates[g.Name] = &api.DesiredUpdates{
			Ignore: uint64(len(g.Ignore)), Place: uint64(len(g.Place)), Stop: uint64(len(g.Stop)),
			InPlaceUpdate: uint64(len(g.InPlace)), DestructiveUpdate: uint64(len(g.Replace)),
		}
	}
	return a
}
