package update

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"
)

// words lists steps, one per line.
func words(steps []Step) string {
	var lines []string
	for _, s := range steps {
		line := s.Group
		for _, do := range []struct {
			what    string
			indexes []int
		}{
			{"create", s.Create},
			{"canary", s.Canary},
			{"promote", s.Promote},
			{"replace", s.Replace},
			{"change", s.InPlace},
			{"destroy", s.Destroy},
		} {
			if len(do.indexes) > 0 {
				line += fmt.Sprintf(" %s%v", do.what, do.indexes)
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

func destructive(string, uint64) Kind { return Destructive }

func inPlace(string, uint64) Kind { return InPlace }

func TestSteps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(j *api.Job, g *api.TaskGroup)
		places []Place
		kind   func(string, uint64) Kind
		want   string
	}{
		"new":           {nil, nil, nil, "g create[0 1 2]"},
		"one by one":    {nil, running(3), destructive, "g replace[0]; g replace[1]; g replace[2]"},
		"two by two":    {func(_ *api.Job, g *api.TaskGroup) { g.Update.MaxParallel = new(2) }, running(3), destructive, "g replace[0 1]; g replace[2]"},
		"no update":     {func(_ *api.Job, g *api.TaskGroup) { g.Update.MaxParallel = new(0) }, running(3), destructive, "g replace[0 1 2]"},
		"batch":         {func(j *api.Job, _ *api.TaskGroup) { j.Type = new("batch") }, running(3), destructive, "g replace[0 1 2]"},
		"in place":      {nil, running(3), inPlace, "g change[0 1 2]"},
		"more":          {func(_ *api.Job, g *api.TaskGroup) { g.Count = new(5) }, running(3), inPlace, "g create[3 4] change[0 1 2]"},
		"more others":   {func(_ *api.Job, g *api.TaskGroup) { g.Count = new(4) }, running(3), destructive, "g create[3]; g replace[0]; g replace[1]; g replace[2]"},
		"fewer":         {func(_ *api.Job, g *api.TaskGroup) { g.Count = new(1) }, running(3), destructive, "g replace[0] destroy[1 2]"},
		"stopped":       {func(_ *api.Job, g *api.TaskGroup) { g.Count = new(0) }, running(2), destructive, "g destroy[0 1]"},
		"periodic":      {func(j *api.Job, _ *api.TaskGroup) { j.Periodic = &api.PeriodicConfig{} }, nil, nil, ""},
		"system":        {func(j *api.Job, _ *api.TaskGroup) { j.Type = new("system") }, running(1), destructive, "g replace[0]"},
		"ended":         {nil, []Place{over(0), running(2)[1]}, destructive, "g create[0 2]; g replace[1]"},
		"failed":        {nil, []Place{failed(0), running(2)[1]}, destructive, "g create[2]; g replace[0]; g replace[1]"},
		"failed, kept":  {nil, []Place{failed(0), running(2)[1]}, inPlace, "g create[2] change[1]"},
		"failed, due":   {nil, []Place{{Group: "g", State: Due}, running(2)[1]}, inPlace, "g create[0 2] change[1]"},
		"failed batch":  {func(j *api.Job, _ *api.TaskGroup) { j.Type = new("batch") }, []Place{failed(0)}, inPlace, "g create[0 1 2]"},
		"failed, fewer": {func(_ *api.Job, g *api.TaskGroup) { g.Count = new(1) }, []Place{running(1)[0], failed(1)}, inPlace, "g change[0] destroy[1]"},
		"canary": {
			func(_ *api.Job, g *api.TaskGroup) { g.Update.Canary = new(1) }, running(3), destructive,
			"g canary[0]; g promote[0] replace[1]; g replace[2]",
		},
		"blue and green": {
			func(_ *api.Job, g *api.TaskGroup) { g.Update.Canary = new(3) }, running(3), destructive,
			"g canary[0 1 2]; g promote[0 1 2]",
		},
		"canary of a change in place": {
			func(_ *api.Job, g *api.TaskGroup) { g.Update.Canary = new(1) }, running(3), inPlace,
			"g change[0 1 2]",
		},
		"canary of the version before": {
			func(_ *api.Job, g *api.TaskGroup) { g.Update.Canary = new(1) },
			append(running(2), Place{Group: "g", Canary: true, Version: 1, Alloc: "c"}), destructive,
			"g canary[0] destroy[0]; g create[2] promote[0]; g replace[1]",
		},
		"another group": {func(_ *api.Job, g *api.TaskGroup) { g.Name = new("h") }, running(2), destructive, "h create[0 1 2]; g destroy[0 1]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := newJob()
			if c.change != nil {
				c.change(job, job.TaskGroups[0])
			}
			job.Version = new(uint64(2))
			before := slices.Clone(c.places)
			if got := words(Steps(job, c.places, c.kind)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if !slices.Equal(before, c.places) {
				t.Errorf("the places were changed to %+v", c.places)
			}
		})
	}
}

// The first step is that of the plan.
func TestStepsBeginWithThePlan(t *testing.T) {
	t.Parallel()
	for count := range 5 {
		for canary := range 3 {
			before, after := newJob(), newJob()
			before.Version = new(uint64(0))
			after.TaskGroups[0].Count = &count
			after.TaskGroups[0].Update.Canary = &canary
			after.TaskGroups[0].Tasks[0].Env = map[string]string{"A": "2"}
			g := plan(before, after, running(3)).Groups[0]
			after.Version = new(uint64(1))
			first := Step{Group: "g"}
			if steps := Steps(after, running(3), destructive); len(steps) > 0 {
				first = steps[0]
			}
			want := words([]Step{{Group: "g", Create: g.Place, Canary: g.Canary, Replace: g.Replace, InPlace: g.InPlace, Destroy: g.Stop}})
			if got := words([]Step{first}); got != want {
				t.Errorf("count %d, %d canaries: %s, want %s", count, canary, got, want)
			}
		}
	}
}
