package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
)

func create(t *testing.T, bus *event.Bus) (r *Recorder, dir string) {
	t.Helper()
	dir = leaktest.TempDir(t)
	r, err := Create(bus, dir, Change{})
	if err != nil {
		t.Fatal(err)
	}
	return r, dir
}

// reopen returns a recorder that continues another one's run.
func reopen(t *testing.T, r *Recorder, dir string) *Recorder {
	t.Helper()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	back, err := Open(&event.Bus{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = back.Close() })
	return back
}

// commitEvents commits each event separately.
func commitEvents(r *Recorder, events ...event.Event) {
	for _, e := range events {
		var c Change
		c.Add(e)
		r.Commit(c)
	}
}

func put(r *Recorder, key Key, value any) {
	var c Change
	c.Put(key, value)
	r.Commit(c)
}

// ofEachKind returns events that do not replace each other.
func ofEachKind(round int) []event.Event {
	other := &event.Alloc{Job: "web", Group: "g", Name: "web.g[1]", ID: "2"}
	word := fmt.Sprint(round)
	return []event.Event{
		{Alloc: web, Task: "t", Body: event.TaskEvent{TaskEvent: &api.TaskEvent{Type: "Started", DisplayMessage: word}}},
		{Alloc: other, Task: "t", Body: event.TaskState{State: word}},
		{Body: event.Deployment{Job: "web", Status: word}},
		{Body: event.Deployment{Job: "web2", Status: word}},
		{Body: event.Notice{Text: word}},
		{Task: "t", Body: event.Notice{Text: word}},
		{Alloc: web, Body: event.Notice{Text: word}},
		{Alloc: web, Task: "t", Body: event.TaskState{State: word}},
		{Alloc: web, Task: "u", Body: event.TaskState{State: word}},
		{Alloc: web, Body: event.AllocStatus{Status: word}},
		{Alloc: web, Body: event.AllocHealth{Healthy: round == 2}},
		{Alloc: web, Body: event.Service{ID: "1", Name: word}},
		{Alloc: web, Body: event.Service{ID: "2", Name: word}},
		{Alloc: web, Body: event.Check{Service: "1", Check: "a", Output: word}},
		{Alloc: web, Body: event.Check{Service: "1", Check: "b", Output: word}},
		{Alloc: web, Body: event.Check{Service: "2", Check: "a", Output: word}},
	}
}

// TestLatestOfEachKindIsRemembered commits three rounds of events: the last
// round is remembered, and the first event of each allocation, of each
// deployment and of the run.
func TestLatestOfEachKindIsRemembered(t *testing.T) {
	t.Parallel()
	r, dir := create(t, &event.Bus{})
	for round := range 3 {
		commitEvents(r, ofEachKind(round)...)
	}
	back := reopen(t, r, dir)
	got, last, err := back.Past()
	if err != nil || last != 48 {
		t.Errorf("the last event is %d, %v", last, err)
	}
	want := ofEachKind(0)[:5] // the first of two allocations, two deployments and the run
	want = append(want, ofEachKind(2)...)
	for i := range want {
		want[i].Seq = uint64(i + 1)
		if i >= 5 {
			want[i].Seq = uint64(i - 5 + 33)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	known := map[string]*event.Alloc{}
	for _, e := range got {
		if e.Alloc == nil {
			continue
		}
		if before := known[e.Alloc.ID]; before != nil && before != e.Alloc {
			t.Errorf("event %d has another value for allocation %s", e.Seq, e.Alloc.ID)
		}
		known[e.Alloc.ID] = e.Alloc
	}
	for i, e := range ofEachKind(2) {
		if !back.Repeats(e) {
			t.Errorf("%s %d does not repeat the latest", event.Kind(e.Body), i)
		}
		if before := ofEachKind(1)[i]; back.Repeats(before) {
			t.Errorf("%s %d, which differs, repeats the latest", event.Kind(e.Body), i)
		}
	}
	unknown := event.Event{Alloc: &event.Alloc{ID: "3"}, Task: "t", Body: event.TaskState{State: "2"}}
	if back.Repeats(unknown) || back.Repeats(event.Event{Alloc: web, Body: event.Output{}}) {
		t.Error("an event that is not remembered repeats")
	}
}

func TestForgottenAllocLeavesTheOthers(t *testing.T) {
	t.Parallel()
	r, dir := create(t, &event.Bus{})
	commitEvents(r, ofEachKind(0)...)
	var c Change
	c.ForgetAlloc(web.ID)
	r.Commit(c)
	got, last, err := reopen(t, r, dir).Past()
	var seqs []uint64
	for _, e := range got {
		seqs = append(seqs, e.Seq)
	}
	if diff := cmp.Diff([]uint64{2, 3, 4, 5, 6}, seqs); diff != "" || last != 16 || err != nil {
		t.Errorf("last %d, %v (-want +got):\n%s", last, err, diff)
	}
}

func TestUnreadablePast(t *testing.T) {
	t.Parallel()
	for want, value := range map[string]any{
		`cannot read record ["event" "x"]`:   "text",
		`there are no events of type "nope"`: event.Stored{Kind: "nope"},
	} {
		r, dir := create(t, &event.Bus{})
		put(r, KeyOf(past, "x"), value)
		events, last, err := reopen(t, r, dir).Past()
		if err == nil || !strings.Contains(err.Error(), want) || events != nil || last != 0 {
			t.Errorf("%v, last %d, %v; want %s", events, last, err, want)
		}
	}
	r, dir := create(t, &event.Bus{})
	e := event.Event{Alloc: web, Body: event.TaskState{}}
	put(r, pastKey(e), "text")
	if reopen(t, r, dir).Repeats(e) {
		t.Error("an event repeats one that cannot be read")
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	r, dir := create(t, &event.Bus{})
	put(r, "n", map[string]any{"n": json.Number("12345678901234567890")})
	back := reopen(t, r, dir)
	var value any
	ok, err := back.Get("n", &value)
	if diff := cmp.Diff(map[string]any{"n": json.Number("12345678901234567890")}, value); !ok || err != nil || diff != "" {
		t.Errorf("%v, %v (-want +got):\n%s", ok, err, diff)
	}
	if ok, err := back.Get("none", &value); ok || err != nil {
		t.Errorf("a key without a value: %v, %v", ok, err)
	}
	var n int
	if ok, err := back.Get("n", &n); !ok || err == nil {
		t.Errorf("a value of another type: %v, %v", ok, err)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	r, _ := create(t, &event.Bus{})
	defer r.Close()
	for _, key := range []Key{"b", KeyOf("a", "2"), KeyOf("a", "1", "x"), "a", "ab", KeyOf("ab", "1")} {
		put(r, key, 1)
	}
	for prefix, want := range map[Key][]Key{
		"a": {"a", "a\x001\x00x", "a\x002"}, "ab": {"ab", "ab\x001"}, "a\x001": {"a\x001\x00x"}, "c": {},
	} {
		if diff := cmp.Diff(want, r.Keys(prefix)); diff != "" {
			t.Errorf("below %q (-want +got):\n%s", prefix.Parts(), diff)
		}
	}
}

func TestRecorderThatIsNotDurable(t *testing.T) {
	t.Parallel()
	bus := &event.Bus{}
	sub := bus.Subscribe(false)
	r := NewRecorder(bus)
	commit(r, 1)
	if diff := cmp.Diff([]string{"1 t task_event", "2 t task_state"}, drain(sub)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	e := event.Event{Alloc: web, Task: "t", Body: event.TaskState{State: "running", Restarts: 1}}
	if r.Durable() || r.Repeats(e) {
		t.Error("something is stored")
	}
	r.HaltWhen(func() bool { return true })
	if err := errors.Join(r.Close(), r.Remove()); err != nil {
		t.Error(err)
	}
}

func TestFirstChangeIsStored(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	var first Change
	first.Put("a", 7)
	r, err := Create(&event.Bus{}, dir, first)
	if err != nil {
		t.Fatal(err)
	}
	state := r.journal.file
	var n int
	if ok, err := r.Get("a", &n); !ok || err != nil || n != 7 {
		t.Errorf("%d, %v, %v", n, ok, err)
	}
	n = 0
	if ok, err := reopen(t, r, dir).Get("a", &n); !ok || err != nil || n != 7 {
		t.Errorf("opened again: %d, %v, %v", n, ok, err)
	}
	if _, err := state.Stat(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the state of a closed recorder is open: %v", err)
	}
}

func TestEmptyChangeWritesNothing(t *testing.T) {
	t.Parallel()
	r, dir := create(t, &event.Bus{})
	defer r.Close()
	if !r.Durable() {
		t.Error("nothing is stored")
	}
	before := readFile(t, dir, stateDir, stateFile)
	r.Commit(Change{})
	if after := readFile(t, dir, stateDir, stateFile); after != before {
		t.Errorf("%q became %q", before, after)
	}
}

// TestChangeIsReused adds one item of each kind to a change and resets it.
func TestChangeIsReused(t *testing.T) {
	t.Parallel()
	var c Change
	for name, add := range map[string]func(){
		"a value":         func() { c.Put("a", 1) },
		"a drop":          func() { c.Drop("a") },
		"a drop of all":   func() { c.DropAll("a") },
		"an event":        func() { c.Add(event.Event{}) },
		"a forgotten one": func() { c.ForgetAlloc("a") },
	} {
		if add(); c.isEmpty() {
			t.Errorf("%s is nothing", name)
		}
		if c.Reset(); !c.isEmpty() {
			t.Errorf("%s is left", name)
		}
	}
}

func TestRunThatCannotBeKept(t *testing.T) {
	t.Parallel()
	none := leaktest.TempDir(t) + "/none"
	if r, err := Create(&event.Bus{}, none, Change{}); r != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v, %v", r, err)
	}
	if r, err := Open(&event.Bus{}, none); r != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no state: %v, %v", r, err)
	}
	if HasState(none) {
		t.Error("there is a state in no directory")
	}
	var c Change
	c.Put("a", func() {})
	if r, err := Create(&event.Bus{}, leaktest.TempDir(t), c); r != nil || err == nil || !strings.Contains(err.Error(), "unsupported type") {
		t.Errorf("a value without JSON: %v, %v", r, err)
	}
}
