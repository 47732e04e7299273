package repeat

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taskrun/cmd/report/compare"
)

// played plays a shell script in place of a run.
func played(t *testing.T, script string, signals <-chan os.Signal) (*Run, []string) {
	t.Helper()
	var objects []string
	p := &Player{
		Path: "/bin/sh", Args: []string{"-c", script}, Env: os.Environ(), Stdin: []byte("the job"),
		Object: func(object []byte) { objects = append(objects, string(object)) },
	}
	r, err := p.Play(1, signals, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r, objects
}

func TestPlay(t *testing.T) {
	t.Parallel()
	r, objects := played(t, `
echo '{"type":"log","alloc":"web.app[0]","task":"t","line":"a\u001b"}'
echo '{"type":"log","alloc":"web.app[0]","task":"t","line_base64":"//4="}'
echo '{"type":"task_state","time":"2026-01-01T00:00:00Z","job":"web","group":"app","alloc":"web.app[0]","alloc_id":"1","task":"t","state":"running"}'
echo 'no object'
echo '{"type":"summary","status":"complete"}'
echo '{"type":"summary","status":"failed","reason":"because"}'
cat >&2
exit 3`, nil)
	want := &Run{Number: 1, Status: "failed", ExitCode: 3, Reason: "because", Tail: []Line{{"app[0]/t", "a\x1b"}, {"app[0]/t", "\xff\xfe"}}, Said: "the job"}
	state := r.Compared.Allocs[0].Tasks["t"].Values[compare.Key{Kind: compare.State}]
	r.Took, r.Compared = 0, nil
	if diff := cmp.Diff(want, r); diff != "" || state != "running" || len(objects) != 5 || !r.Failed() {
		t.Errorf("state %q, %d objects: %s", state, len(objects), diff)
	}
}

// However much a run writes, only the end is kept.
func TestPlayIsBounded(t *testing.T) {
	t.Parallel()
	r, _ := played(t, `
line=$(printf '%01000d' 0)
for i in $(seq 400); do echo '{"type":"log","alloc":"web.app[0]","task":"t","line":"'$line$i'"}'; echo $line >&2; done`, nil)
	if len(r.Tail)+r.Omitted != 400 || len(r.Tail) > maxTail/1000 || !strings.HasSuffix(r.Tail[len(r.Tail)-1].Text, "400") || len(r.Said) > maxError {
		t.Errorf("%d lines kept, %d omitted, %d bytes of stderr", len(r.Tail), r.Omitted, len(r.Said))
	}
}

// Lines without text count, too.
func TestEmptyLinesAreBounded(t *testing.T) {
	t.Parallel()
	r := &reading{Player: &Player{}, run: &Run{}}
	for range maxTail {
		r.line(Line{Target: "app[0]/t"})
	}
	if kept := len(r.run.Tail); kept == 0 || kept > maxTail/len("app[0]/t") || kept+r.run.Omitted != maxTail {
		t.Errorf("%d lines kept, %d omitted", kept, r.run.Omitted)
	}
}

// A line is read up to the limit; a longer one is skipped, but not the next one.
func TestLongestLine(t *testing.T) {
	t.Parallel()
	var got []string
	r := &reading{Player: &Player{Object: func(object []byte) { got = append(got, string(object)) }}, run: &Run{}, builder: compare.NewBuilder()}
	line := func(object string, size int) string { return strings.Repeat(" ", size-len(object)) + object + "\n" }
	r.read(strings.NewReader(line(`{"type":"a"}`, maxLine) + line(`{"type":"b"}`, maxLine+1) + line(`{"type":"c"}`, 100)))
	if diff := cmp.Diff([]string{`{"type":"a"}`, `{"type":"c"}`}, got); diff != "" {
		t.Error(diff)
	}
}

// Kept output may be as large as the limit, to the byte.
func TestExactLimits(t *testing.T) {
	t.Parallel()
	r := &reading{Player: &Player{}, run: &Run{}}
	line := Line{Target: "t", Text: strings.Repeat("x", maxTail/2-1)}
	for i, want := range []int{1, 2, 2} {
		if r.line(line); len(r.run.Tail) != want || r.run.Omitted != i+1-want {
			t.Errorf("after %d lines %d are kept, %d omitted", i+1, len(r.run.Tail), r.run.Omitted)
		}
	}
	var said tail
	_, _ = said.Write([]byte("ab" + strings.Repeat("x", maxError-1)))
	if len(said.kept) != maxError || said.kept[0] != 'b' {
		t.Errorf("%d bytes of stderr", len(said.kept))
	}
}

// Of the summaries of several jobs the first failure counts, or else the first one.
func TestFirstSummaryCounts(t *testing.T) {
	t.Parallel()
	for statuses, want := range map[string]string{"complete stopped": "complete 0", "complete failed failed": "failed 1", "failed complete": "failed 0"} {
		r := &reading{Player: &Player{}, run: &Run{}}
		for i, status := range strings.Fields(statuses) {
			r.object(fmt.Appendf(nil, `{"type":"summary","status":%q,"reason":"%d"}`, status, i))
		}
		if got := r.run.Status + " " + r.run.Reason; got != want {
			t.Errorf("%s: %q, want %q", statuses, got, want)
		}
	}
}

func TestStoppedRun(t *testing.T) {
	t.Parallel()
	signals := make(chan os.Signal, 1)
	signals <- os.Interrupt
	r, _ := played(t, `exec sleep 600`, signals)
	if !r.Stopped || r.Failed() || r.ExitCode != 130 {
		t.Errorf("%+v", r)
	}
}

func TestNoProgram(t *testing.T) {
	t.Parallel()
	if _, err := (&Player{Path: "/nonexistent"}).Play(7, nil, nil); err == nil || !strings.Contains(err.Error(), "cannot start run 7") {
		t.Error(err)
	}
}

// Beyond a number of outcomes, runs count for one that differs in its reason only.
func TestManyOutcomes(t *testing.T) {
	t.Parallel()
	var tally Tally
	for n := range maxOutcomes + 2 {
		tally.Add(&Run{Number: n + 1, Status: "failed", ExitCode: 1, Reason: "because of " + strings.Repeat("x", n+1), Compared: &compare.Run{}})
	}
	tally.Add(&Run{Number: maxOutcomes + 3, Status: "failed", ExitCode: 2, Compared: &compare.Run{}})
	if n := len(tally.Outcomes); n != maxOutcomes+1 || tally.Outcomes[0].Runs != 3 || tally.Outcomes[maxOutcomes-1].Runs != 1 || tally.Outcomes[maxOutcomes].ExitCode != 2 {
		t.Errorf("%d outcomes, the first one of %d runs", n, tally.Outcomes[0].Runs)
	}
}

func TestTally(t *testing.T) {
	t.Parallel()
	var tally Tally
	if _, ok := tally.Compare(compare.Defaults); ok {
		t.Error("runs are compared before there are any")
	}
	for i, r := range []Run{
		{Status: "failed", ExitCode: 1, Reason: "exit code 1 of 0b2a9a52-9c2f-4d39-8d5e-5b8f0c2f7d11"},
		{Status: "complete", Took: 3 * time.Second},
		{Status: "failed", ExitCode: 1, Reason: "exit code 1 of 1b2a9a52-9c2f-4d39-8d5e-5b8f0c2f7d11"},
		{Status: "complete", Took: time.Second},
		{Status: "complete", Took: 2 * time.Second},
		{ExitCode: 125},
		{ExitCode: 125},
		{Status: "stopped", ExitCode: 130, Stopped: true},
		{Status: "failed", ExitCode: 125, Stopped: true},
		{Status: "failed", ExitCode: 125},
	} {
		r.Number, r.Compared = i+1, &compare.Run{Took: r.Took}
		tally.Add(&r)
		if _, ok := tally.Compare(compare.Defaults); ok != (i > 0) {
			t.Errorf("after run %d, compared: %v", r.Number, ok)
		}
	}
	var outcomes []Outcome
	for _, o := range tally.Outcomes {
		outcomes = append(outcomes, *o)
	}
	want := []Outcome{
		{Status: "failed", ExitCode: 1, Reason: "exit code 1 of ID", Runs: 2, First: 1, Failed: true},
		{Status: "complete", Runs: 3, First: 2},
		{Status: "not started", ExitCode: 125, Runs: 2, First: 6, Failed: true},
		{Status: "stopped", ExitCode: 130, Runs: 1, First: 8},
		{Status: "failed", ExitCode: 125, Runs: 1, First: 9},
		{Status: "failed", ExitCode: 125, Runs: 1, First: 10, Failed: true},
	}
	if diff := cmp.Diff(want, outcomes); diff != "" {
		t.Error(diff)
	}
	if tally.Runs != 8 || tally.Failures != 5 || tally.Failed.Number != 1 || tally.Passed.Number != 2 {
		t.Errorf("%d runs, %d failures, run %d and run %d are compared", tally.Runs, tally.Failures, tally.Failed.Number, tally.Passed.Number)
	}
	s := tally.Spreads.List()
	if len(s) != 1 || s[0].Least() != time.Second || s[0].Median() != 2*time.Second || s[0].Most() != 3*time.Second {
		t.Errorf("%+v", s)
	}
}
