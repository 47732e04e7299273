package trace

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// task is a task whose events a test makes.
type task struct {
	alloc *event.Alloc
	at    time.Time
	add   func(event.Event)
}

func (k *task) event(e *api.TaskEvent) {
	k.at = k.at.Add(time.Millisecond)
	k.add(event.Event{Time: k.at, Alloc: k.alloc, Task: "web", Body: event.TaskEvent{TaskEvent: e}})
}

func (k *task) state(s event.TaskState) {
	k.add(event.Event{Time: k.at, Alloc: k.alloc, Task: "web", Body: s})
}

// restart makes the six events of an attempt that fails.
func (k *task) restart(n int) {
	k.event(event.Started())
	k.state(event.TaskState{State: "running", Restarts: uint64(n)})
	k.event(event.Terminated(1, 0, false, nil))
	k.state(event.TaskState{State: "pending", Restarts: uint64(n)})
	k.event(event.Restarting(time.Millisecond, "within policy", true))
}

func webAlloc(id int) *event.Alloc {
	return &event.Alloc{Job: "job", Group: "app", Name: "job.app[0]", ID: fmt.Sprint(id)}
}

// Of a task that restarts without end the first and the latest attempts are exact, and
// memory is bounded.
func TestManyRestarts(t *testing.T) {
	t.Parallel()
	const restarts = 100_000
	b := NewBuilder(nil)
	k := task{webAlloc(1), begin, b.Add}
	k.event(event.Received())
	for i := range restarts {
		k.restart(i)
	}
	trace := b.Trace(time.Time{})
	r := trace.Rows[0]
	if n := len(r.Spans); n > 2*(firstSpans+lastSpans) {
		t.Errorf("%d spans", n)
	}
	if n := len(r.Marks); n > 2*keptMarks {
		t.Errorf("%d marks", n)
	}
	count, merged := 0, 0
	for _, s := range r.Spans {
		if s.Kind == Running {
			count += s.Count
		}
		if s.Count > 1 {
			merged++
		}
	}
	if count != restarts || merged != 1 {
		t.Errorf("%d attempts in %d merged spans", count, merged)
	}
	if n := r.Omitted + len(r.Spans) + len(r.Marks); n < 5*restarts-10 || n > 5*restarts+10 || trace.Omitted != r.Omitted {
		t.Errorf("%d spans and marks, %d omitted", n, trace.Omitted)
	}
	if steps := trace.Critical; len(steps) != 1 || steps[0].Count != restarts || steps[0].Took() != trace.Length {
		t.Errorf("the critical path is %+v", steps)
	}
}

// Of allocations that are replaced without end the first and the latest ones stay.
func TestManyReplacements(t *testing.T) {
	t.Parallel()
	const allocs = 2000
	b := NewBuilder(nil)
	k := task{add: b.Add, at: begin}
	for i := range allocs {
		k.alloc = webAlloc(i)
		status := event.AllocStatus{Status: api.AllocClientStatusPending, Retry: -1}
		if i > 0 {
			status.Replaces = fmt.Sprint(i - 1)
		}
		b.Add(event.Event{Time: k.at, Alloc: k.alloc, Body: status})
		k.event(event.Received())
		k.event(event.Started())
		k.event(event.Terminated(1, 0, false, nil))
		k.state(event.TaskState{State: "dead", Failed: true})
		b.Add(event.Event{Time: k.at, Alloc: k.alloc, Body: event.AllocStatus{Status: api.AllocClientStatusFailed}})
		k.at = k.at.Add(time.Second)
		if n := i + 1; n <= mergeAbove && len(b.allocs) != n {
			t.Fatalf("of %d allocations %d are kept", n, len(b.allocs))
		}
	}
	trace := b.Trace(time.Time{})
	if n := len(trace.Rows); n > mergeAbove || n < keepFirst+keepLast {
		t.Errorf("%d rows", n)
	}
	seen := 0
	for _, r := range trace.Rows {
		seen += max(1, r.Merged)
	}
	if first, last := trace.Rows[0], trace.Rows[len(trace.Rows)-1]; seen != allocs || first.Name != "web" || last.Attempt != allocs-1 {
		t.Errorf("%d allocations, from %s to %s", seen, first.Name, last.Name)
	}
	if len(b.run.Allocs) > mergeAbove || len(b.allocs) > mergeAbove {
		t.Errorf("%d allocations stay in memory", len(b.run.Allocs))
	}
	if trace.Status != "failed" || len(trace.Critical) == 0 || trace.Critical[len(trace.Critical)-1].Row != trace.Rows[len(trace.Rows)-1] {
		t.Errorf("%s: %+v", trace.Status, trace.Critical)
	}
}

// Events may come from a file that anyone has written.
func TestManyAllocations(t *testing.T) {
	t.Parallel()
	b := NewBuilder(nil)
	for i := range maxRows + 100 {
		a := &event.Alloc{Job: "job", Group: "app", Name: fmt.Sprintf("job.app[%d]", i), ID: fmt.Sprint(i)}
		b.Add(event.Event{Time: begin, Alloc: a, Task: "web", Body: event.TaskEvent{TaskEvent: event.Received()}})
	}
	if trace := b.Trace(time.Time{}); len(trace.Rows) != maxRows || trace.Omitted != 100 {
		t.Errorf("%d rows, %d omitted", len(trace.Rows), trace.Omitted)
	}
}

// FuzzBuilder builds traces of any events, in any order.
func FuzzBuilder(f *testing.F) {
	f.Add([]byte("\x00\x00\x01\x00\x00\x05\x00\x00\x02\x00\x00\x08\x00\x00\x0a"), uint8(0))
	f.Add([]byte("\x00\x03\x01\x10\x00\x02\x20\x03\x02\x00\x13\x08\x30\x00\x09"), uint8(1))
	f.Fuzz(func(t *testing.T, program []byte, mode uint8) {
		var jobs []*api.Job
		if mode&1 != 0 {
			jobs = []*api.Job{job("a=prestart", "b=sidecar", "c", "d=poststop")}
		}
		b := NewBuilder(jobs)
		at := begin
		for ; len(program) >= 3; program = program[3:] {
			at = at.Add(time.Duration(int8(program[0])) * time.Millisecond) // also backwards
			b.Add(any3(at, program[1], program[2]))
		}
		now := time.Time{}
		if mode&2 != 0 {
			now = at.Add(time.Second)
		}
		checkTrace(t, b.Trace(now))
	})
}

// any3 returns an event that two bytes choose.
func any3(at time.Time, where, what byte) event.Event {
	id := int(where >> 4 & 7)
	e := event.Event{
		Time: at, Task: string(rune('a' + where&3)),
		Alloc: &event.Alloc{Job: "job", Group: "app", Name: fmt.Sprintf("job.app[%d]", id&1), ID: fmt.Sprint(id)},
	}
	of := []event.Body{
		event.TaskEvent{TaskEvent: event.Received()},
		event.TaskEvent{TaskEvent: event.Setup("a")},
		event.TaskEvent{TaskEvent: event.Started()},
		event.TaskEvent{TaskEvent: event.Terminated(int(what), 0, false, nil)},
		event.TaskEvent{TaskEvent: event.Restarting(time.Duration(what)*time.Millisecond, "", true)},
		event.TaskEvent{TaskEvent: event.Killing(1)},
		event.TaskEvent{TaskEvent: event.MainTasksDead()},
		event.TaskEvent{},
		event.TaskState{State: "pending"},
		event.TaskState{State: "running"},
		event.TaskState{State: "dead", Failed: what > 100},
		event.AllocStatus{Status: "pending", Replaces: fmt.Sprint(what >> 5)},
		event.AllocStatus{Status: "failed"},
		event.AllocStatus{Status: "complete"},
		event.AllocHealth{Healthy: what > 100},
		event.Check{Check: "c", Status: "failure"},
		event.Service{Name: "s"},
		event.Version{Job: "job", Number: 1},
		event.Deployment{Job: "job", Status: "running"},
		event.Evaluation{Job: "job"},
		event.Notice{Text: "n"},
		event.Output{},
		nil,
	}
	e.Body = of[int(what)%len(of)]
	if where&8 != 0 && what > 200 {
		e.Alloc = nil
	}
	return e
}

// checkTrace checks what is true of every trace.
func checkTrace(t *testing.T, trace *Trace) {
	t.Helper()
	rows, names := map[*Row]bool{}, map[string]bool{}
	for _, r := range trace.Rows {
		rows[r] = true
		if names[r.Name] {
			t.Errorf("several rows are named %s", r.Name)
		}
		names[r.Name] = true
		var last time.Time
		for i, s := range r.Spans {
			if s.From.Before(last) || s.To.Before(s.From) || s.Open && i < len(r.Spans)-1 || s.Count < 1 {
				t.Errorf("%s: span %d is %+v, after %v", r.Name, i, s, last)
			}
			last = s.To
		}
		if len(r.Spans) > 2*(firstSpans+lastSpans) || len(r.Marks) > 4*keptMarks {
			t.Errorf("%s: %d spans, %d marks", r.Name, len(r.Spans), len(r.Marks))
		}
	}
	for _, r := range trace.Rows {
		for _, s := range r.Spans {
			if s.After != nil && !rows[s.After] {
				t.Errorf("%s follows a row of no trace", r.Name)
			}
		}
	}
	at := trace.Begin
	for _, s := range trace.Critical {
		if !s.From.Equal(at) || !s.To.After(s.From) || s.Row != nil && !rows[s.Row] {
			t.Errorf("the critical path has %+v at %v", s, at)
		}
		at = s.To
	}
	if len(trace.Critical) > 0 && at.Sub(trace.Begin) != trace.Length {
		t.Errorf("the critical path ends after %v of %v", at.Sub(trace.Begin), trace.Length)
	}
}

func BenchmarkBuilder(b *testing.B) {
	var events []event.Event
	k := task{webAlloc(1), begin, func(e event.Event) { events = append(events, e) }}
	k.event(event.Received())
	for i := 0; len(events) < 100_000; i++ {
		k.restart(i)
	}
	b.ReportAllocs()
	for b.Loop() {
		build := build(nil, events)
		build.Trace(time.Time{})
		runtime.KeepAlive(build)
	}
}
