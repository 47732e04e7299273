package event

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStoredEventsComeBack(t *testing.T) {
	t.Parallel()
	alloc := &Alloc{Job: "j", Group: "g", Name: "j.g[0]", ID: "1", Parent: "p"}
	code := 3
	for _, body := range []Body{
		TaskEvent{TaskEvent: Terminated(3, 9, true, errors.New("x"))},
		TaskState{State: "dead", Failed: true, Restarts: 7, ExitCode: &code},
		AllocStatus{Status: "failed", Description: "d", Replaces: "2", Retry: -1},
		AllocHealth{Healthy: true},
		Deployment{Job: "j", Status: "running", Description: "d"},
		Version{Job: "j", Parent: "p", Number: 3, Stable: true, Tag: "x"},
		Evaluation{Job: "j", Parent: "p", ID: "i", Trigger: AllocStop, Version: 3, Deployment: "d", Alloc: "1"},
		Service{ID: "i", Name: "n", Address: "a", Port: 1, Tags: []string{"t"}, Registered: true},
		Check{Service: "s", Check: "c", Status: "success", Output: "o"},
		Notice{Text: "n", Unfixed: "1 error"},
		Notice{Text: "n", Fixed: true},
	} {
		want := Event{Seq: 5, Time: time.Unix(1, 2).UTC(), Alloc: alloc, Task: "t", Body: body}
		stored, err := want.Store()
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(stored)
		if err != nil {
			t.Fatal(err)
		}
		var back Stored
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatal(err)
		}
		got, err := back.Event()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%T (-want +got): %v\n%s", body, err, diff)
		}
	}
	if _, err := (Event{Body: Gap{}}).Store(); err == nil {
		t.Error("a gap was stored")
	}
	if _, err := (Stored{Kind: "gap"}).Event(); err == nil {
		t.Error("a gap was read")
	}
}

func TestRestoredBusGoesOn(t *testing.T) {
	t.Parallel()
	var bus Bus
	sub := bus.Subscribe(false)
	bus.Restore([]Event{{Seq: 3, Body: Notice{Text: "a"}}, {Seq: 7, Body: Notice{Text: "b"}}}, 9)
	var kept []uint64
	bus.Commit([]Event{{Body: Notice{Text: "c"}}, {Body: Notice{Text: "d"}}}, func(events []Event) {
		for _, e := range events {
			kept = append(kept, e.Seq)
		}
	})
	bus.Close()
	var got []uint64
	for e, ok := sub.Next(t.Context()); ok; e, ok = sub.Next(t.Context()) {
		got = append(got, e.Seq)
	}
	if diff := cmp.Diff([]uint64{3, 7, 10, 11}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]uint64{10, 11}, kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}
