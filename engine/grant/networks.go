package grant

import (
	"fmt"
	"iter"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/update"
)

// networksOf returns the networks of a group that count. As in Nomad, they are
// the first one of the group (with an empty task name) and the first one in the
// deprecated blocks of each task.
func networksOf(g *api.TaskGroup) iter.Seq2[string, *api.NetworkResource] {
	return func(yield func(string, *api.NetworkResource) bool) {
		if len(g.Networks) > 0 && !yield("", g.Networks[0]) {
			return
		}
		for _, t := range g.Tasks {
			if t.Resources != nil && len(t.Resources.Networks) > 0 && !yield(t.Name, t.Resources.Networks[0]) {
				return
			}
		}
	}
}

// StaticPort is a static port of an allocation.
type StaticPort struct {
	api.Port
	Group *api.TaskGroup
	index int
}

func (s StaticPort) alloc(job string) string { return AllocName(job, *s.Group.Name, s.index) }

func (s StaticPort) error(err error) error {
	return fmt.Errorf("port %q of group %q: static %w", s.Label, *s.Group.Name, err)
}

// AllocName returns the name of an allocation.
func AllocName(job, group string, index int) string {
	return fmt.Sprintf("%s.%s[%d]", job, group, index)
}

// staticOf returns the static ports of one allocation of a group.
func staticOf(g *api.TaskGroup, index int) iter.Seq[StaticPort] {
	return func(yield func(StaticPort) bool) {
		for _, n := range networksOf(g) {
			for _, p := range n.ReservedPorts {
				if !p.IgnoreCollision && !yield(StaticPort{p, g, index}) {
					return
				}
			}
		}
	}
}

// StaticPorts returns the static ports of all allocations of a version of a
// job.
func StaticPorts(job *api.Job) iter.Seq[StaticPort] {
	return func(yield func(StaticPort) bool) {
		for _, g := range job.TaskGroups {
			for i := range update.Count(job, g) {
				for p := range staticOf(g, i) {
					if !yield(p) {
						return
					}
				}
			}
		}
	}
}
