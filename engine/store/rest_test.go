package store

import (
	"testing"

	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
)

// A resting recorder has no open file, and stores and returns everything all the
// same.
func TestRest(t *testing.T) {
	t.Parallel()
	var bus event.Bus
	dir := leaktest.TempDir(t)
	var c Change
	c.Put("a", 1)
	r, err := Create(&bus, dir, c)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := r.Wake(); err != nil {
			t.Fatal(err)
		}
	}
	if r.Rest() || r.Resting() || r.journal.file == nil {
		t.Error("the recorder rests although somebody uses it")
	}
	if !r.Rest() || !r.Resting() || !r.closed {
		t.Error("the recorder does not rest")
	}
	c = Change{}
	c.Put("b", 2)
	c.Add(event.Event{Body: event.Notice{Text: "n"}})
	r.Commit(c)
	var a, b int
	if ok, err := r.Get("a", &a); !ok || err != nil || a != 1 {
		t.Errorf("a: %d, %t, %v", a, ok, err)
	}
	if err := r.Wake(); err != nil || r.closed {
		t.Errorf("awake: %t, %v", !r.closed, err)
	}
	if ok, err := r.Get("b", &b); !ok || err != nil || b != 2 || len(r.Keys("b")) != 1 {
		t.Errorf("b: %d, %t, %v", b, ok, err)
	}
	if past, last, err := r.Past(); len(past) != 1 || last != 1 || err != nil {
		t.Errorf("%d events until %d, %v", len(past), last, err)
	}
	if err := r.Remove(); err != nil || HasState(dir) {
		t.Errorf("removed: %v", err)
	}
}
