package answer

import (
	"bytes"
	"strconv"
	"testing"
	"time"

	"taskrun/cmd/repeat"
	"taskrun/cmd/report/compare"
	"taskrun/cmd/ui"
)

func TestComparison(t *testing.T) {
	t.Parallel()
	task := compare.Where{Group: "app", Index: 1, Task: "server"}
	of := func(w compare.Where, kind compare.Kind, name string, a, b *string) compare.Difference {
		return compare.Difference{Where: w, Key: compare.Key{Kind: kind, Name: name}, A: a, B: b, AtA: compare.Unknown, AtB: compare.Unknown}
	}
	changed := of(task, compare.TaskEvent, "Terminated", new("Exit Code: 0"), new("Exit Code: 3 \x1b[31m"))
	changed.AtA, changed.AtB = 1203*time.Millisecond, time.Minute
	alone := of(task, compare.TaskEvent, "Restarting", nil, new("Task restarting in 1s"))
	declared := of(task, compare.Variable, "PATH", new("/bin"), nil)
	declared.Why = "Nomad sets it for exec"
	c := Comparison{
		A: Side{"web/1", "complete after 1s, exit code 0"}, B: Side{Name: "nomad.json"},
		List: []compare.Difference{
			of(compare.Where{}, compare.Outcome, "exit_code", new("0"), new("1")),
			of(compare.Where{}, compare.Deployments, "0", new("successful"), new("failed")),
			of(compare.Where{Group: "app", Index: 1}, compare.Health, "", new("true"), new("false")),
			changed, alone, declared,
			of(task, compare.Variable, "A", new("x\x1b"), new("y")),
			of(task, compare.Order, "pre", new("started after pre ended"), new("started before pre ended")),
			of(task, compare.Template, "local/x", new("a\nb\nc\n"), new("a\nB\nc\n")),
			of(compare.Where{Group: "app", Index: 1, Generation: 1}, compare.Existence, "", nil, new("running")),
		},
		NotCompared: []compare.Kind{compare.Health, compare.Variable, compare.ExitCode},
	}
	for name, c := range map[string]Comparison{"differences": c, "no_differences": {}} {
		for _, mode := range []ui.Mode{ui.Plain, ui.JSON} {
			var out bytes.Buffer
			to := To{Streams: &ui.Streams{Out: &out, Env: func(string) string { return "" }}, Mode: mode, Color: ui.ColorAlways, At: begin}
			if err := WriteComparison(to, c); err != nil {
				t.Fatal(err)
			}
			golden(t, name+"_"+string(mode), out.Bytes())
		}
	}
	var out bytes.Buffer
	if err := WriteComparison(To{Streams: &ui.Streams{Out: &out}, Mode: ui.Quiet}, c); err != nil || out.Len() > 0 {
		t.Errorf("quietly %q, %v", out.String(), err)
	}
	if n := c.Different(); n != 9 {
		t.Errorf("%d undocumented differences", n)
	}
}

func TestRepeated(t *testing.T) {
	t.Parallel()
	var flaky, passing repeat.Tally
	for i, r := range []repeat.Run{
		{Status: "complete", Took: 1200 * time.Millisecond},
		{Status: "failed", ExitCode: 3, Reason: "task \"t\x1b\" failed: exit code 3", Took: time.Second},
		{Status: "complete", Took: 2 * time.Minute},
	} {
		r.Number, r.Compared = i+1, &compare.Run{Took: r.Took, Values: map[compare.Key]string{{Kind: compare.Outcome, Name: "exit_code"}: strconv.Itoa(r.ExitCode)}}
		flaky.Add(&r)
		if !r.Failed() {
			passing.Add(&r)
		}
	}
	list, _ := flaky.Compare(compare.Defaults)
	for name, r := range map[string]Repeated{
		"repeated": {Tally: &flaky, ExitCode: 3, Comparison: &Comparison{A: Side{Name: "run 1"}, B: Side{Name: "run 2"}, List: list}},
		"passing":  {Tally: &passing}, "none": {Tally: &repeat.Tally{}},
	} {
		for _, mode := range []ui.Mode{ui.Plain, ui.JSON} {
			var out bytes.Buffer
			to := To{Streams: &ui.Streams{Out: &out, Env: func(string) string { return "" }}, Mode: mode, Color: ui.ColorAlways, At: begin}
			if err := WriteRepeated(to, r); err != nil {
				t.Fatal(err)
			}
			golden(t, "repeat_"+name+"_"+string(mode), out.Bytes())
		}
	}
}
