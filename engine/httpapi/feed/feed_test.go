package feed

import "testing"

// A reader learns of the end, wherever it is in the feed.
func TestEnd(t *testing.T) {
	t.Parallel()
	f := New()
	early := f.From(0)
	f.Add(1, Occurrence{Key: "a"})
	f.Add(2) // no events: no entry
	f.Add(3, Occurrence{Key: "b"})
	last := f.From(4).Next()
	select {
	case <-last.More():
		t.Error("there are later entries before the end")
	default:
	}
	f.End()
	if f.From(0) != early {
		t.Error("what is kept can be read no longer")
	}
	var keys string
	for e := early; e != nil; e = e.Next() {
		for _, o := range e.Events {
			keys += o.Key
		}
		select {
		case <-e.More():
		default:
			t.Fatalf("after the end, a reader at index %d waits forever", e.Index)
		}
	}
	if keys != "ab" || last.Next() != nil {
		t.Errorf("events %q, and %v after the end", keys, last.Next())
	}
}

// Only events that no other reader holds count against a slow reader.
func TestBehind(t *testing.T) {
	t.Parallel()
	f := New()
	slow := f.From(0)
	for n := range uint64(Kept + 3) {
		if behind := f.Behind(slow); behind != max(n, Kept)-Kept {
			t.Errorf("after %d entries: %d behind", n, behind)
		}
		f.Add(n+1, Occurrence{})
	}
	if behind := f.Behind(f.From(0)); behind != 0 {
		t.Errorf("a new reader is %d behind", behind)
	}
	if first := f.From(0).Next().Index; first != 4 {
		t.Errorf("the first kept entry has index %d", first)
	}
	for index, want := range map[uint64]uint64{50: 50, 103: 103, 999: 103} {
		if got := f.From(index).Next().Index; got != want {
			t.Errorf("from %d: %d", index, got)
		}
	}
}
