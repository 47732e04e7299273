package play

import (
	"slices"
	"testing"

	"github.com/hashicorp/nomad/api"
	"github.com/zclconf/go-cty/cty"

	"taskrun/cmd/jobtest"
	"taskrun/engine/leaf/event"
)

// A target names tasks or allocations of the job; one that names more is more exact.
func TestTargets(t *testing.T) {
	t.Parallel()
	job := &api.Job{ID: new("j"), Type: new(api.JobTypeService)}
	for group, tasks := range map[string][]string{"web": {"server", "log"}, "log": {"log"}} {
		g := api.NewTaskGroup(group, 2)
		for _, name := range tasks {
			g.AddTask(api.NewTask(name, "raw_exec"))
		}
		job.AddTaskGroup(g)
	}
	names := jobtest.NamesOf(job)
	for _, tt := range []struct {
		text, task string
		exact      int
		matches    []string
	}{
		{"server", "server", 0, []string{"web[0]", "web[1]"}},
		{"log", "log", 0, []string{"log[0]", "web[0]", "web[1]"}},
		{"web", "", 0, []string{"web[0]", "web[1]"}},
		{"web/log", "log", 1, []string{"web[0]", "web[1]"}},
		{"web[1]", "", 1, []string{"web[1]"}},
		{"web[0]/server", "server", 2, []string{"web[0]"}},
	} {
		target, bad := names.Parse(tt.text)
		if bad != nil {
			t.Errorf("%s: %v", tt.text, bad)
			continue
		}
		var matches []string
		for _, a := range []*event.Alloc{{Group: "log", Name: "j.log[0]"}, {Group: "web", Name: "j.web[0]"}, {Group: "web", Name: "j.web[1]"}} {
			if target.Matches(a.Group, a.Index()) {
				matches = append(matches, a.Name[2:])
			}
		}
		r := role{target, &jobtest.Task{Target: tt.text}}
		if target.Task != tt.task || r.exactness() != tt.exact || !slices.Equal(matches, tt.matches) {
			t.Errorf("%s: task %q, exactness %d, matches %q", tt.text, target.Task, r.exactness(), matches)
		}
	}
	for _, text := range []string{"", "none", "none/log", "log/server", "web/", "web[1", "web[x]", "web[-1]", "web[]/log", "none[0]"} {
		if got, bad := names.Parse(text); bad == nil {
			t.Errorf("%q is taken for %+v", text, got)
		}
	}
}

// Options of an attempt that the test does not set keep their values.
func TestOptionsOfAnAttempt(t *testing.T) {
	t.Parallel()
	object := func(name, value string) cty.Value {
		return cty.ObjectVal(map[string]cty.Value{name: cty.StringVal(value)})
	}
	script, second := object("run_for", "1s"), object("stdout_string", "hi")
	r := role{Task: &jobtest.Task{Script: script, Attempts: map[int]cty.Value{2: second}}}
	untold := object("run_for", "1h")
	both := cty.ObjectVal(map[string]cty.Value{"run_for": cty.StringVal("1h"), "stdout_string": cty.StringVal("hi")})
	for _, tt := range []struct {
		attempt      int
		untold, want cty.Value
	}{{1, untold, script}, {2, untold, both}, {2, cty.NilVal, second}, {3, cty.NilVal, script}} {
		if got := r.options(tt.attempt, tt.untold); !got.RawEquals(tt.want) {
			t.Errorf("attempt %d: %#v, want %#v", tt.attempt, got, tt.want)
		}
	}
}

// Runs share a job if it has the same variables and versions, in the same mode.
func TestJobKey(t *testing.T) {
	t.Parallel()
	update := func(file string) []*jobtest.Order { return []*jobtest.Order{{Verb: jobtest.Update, File: file}} }
	known := map[string]string{}
	for name, r := range map[string]*jobtest.Run{
		"plain": {Mode: jobtest.Virtual}, "real": {Mode: jobtest.Real}, "updated": {Mode: jobtest.Virtual, Orders: update("a")}, "updated otherwise": {Mode: jobtest.Virtual, Orders: update("b")},
	} {
		if other, ok := known[jobKey(r)]; ok {
			t.Errorf("%s has the job of %s", name, other)
		}
		known[jobKey(r)] = name
	}
	stopped := &jobtest.Run{Name: "other", Mode: jobtest.Virtual, Orders: []*jobtest.Order{{Verb: jobtest.Stop, File: "a"}}}
	if known[jobKey(stopped)] != "plain" {
		t.Error("a run with another order has another job")
	}
}

func TestSameSnapshot(t *testing.T) {
	t.Parallel()
	f := &jobtest.File{Runs: []*jobtest.Run{
		{Name: "a", Snapshot: "s"}, {Name: "b"}, {Name: "c"}, {Name: "d", Snapshot: "s"}, {Name: "e", Snapshot: "s", Mode: jobtest.Real}, {Name: "f", Snapshot: "x"}, {Name: "g", Mode: jobtest.Real},
	}}
	var got []string
	for _, d := range sameSnapshot(f) {
		got = append(got, d.Summary)
	}
	if len(got) != 2 || got[0] != `snapshot "s" belongs to run "a" already` || got[1] != `the real run "e" cannot have a snapshot` {
		t.Errorf("%q", got)
	}
}

// Of a long output the end is kept.
func TestTail(t *testing.T) {
	t.Parallel()
	var out tail
	piece := make([]byte, maxOutput/2)
	for i := range 7 {
		piece[0], piece[len(piece)-1] = byte('0'+i), 'x'
		if n, err := out.Write(piece); n != len(piece) || err != nil {
			t.Fatal(n, err)
		}
		text := out.text()
		if want := min(i+1, 2) * len(piece); len(text) != want || text[want-1] != 'x' || text[want-len(piece)] != byte('0'+i) || len(out.kept) > 2*maxOutput {
			t.Errorf("after %d pieces: %d bytes, %d kept", i+1, len(text), len(out.kept))
		}
	}
	if _, _ = out.Write(append(make([]byte, maxOutput), "end"...)); string(out.text()[maxOutput-3:]) != "end" || len(out.text()) != maxOutput {
		t.Errorf("after a large piece: %d bytes", len(out.text()))
	}
}
