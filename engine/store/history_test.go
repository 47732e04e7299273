package store_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
	"taskrun/engine/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestHistoryHoldsEveryEventOfItsJob(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	var bus event.Bus
	h := store.NewHistory(&bus, dir, "web")
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	web := &event.Alloc{Job: "web", Group: "g", Name: "web.g[0]", ID: "1"}
	other := &event.Alloc{Job: "other", Group: "g", Name: "other.g[0]", ID: "2"}
	code := 3
	bus.PublishAt(at, web, "t", event.TaskEvent{TaskEvent: event.Terminated(3, 0, false, nil)})
	bus.PublishAt(at, other, "t", event.TaskEvent{TaskEvent: event.Started()})
	bus.PublishAt(at, web, "t", event.TaskState{State: "dead", Failed: true, Restarts: 2, ExitCode: &code})
	bus.PublishAt(at, web, "", event.AllocStatus{Status: "failed", Description: "Failed tasks", Retry: time.Second})
	bus.PublishAt(at, web, "", event.AllocHealth{})
	bus.PublishAt(at, nil, "", event.Deployment{Job: "web", Status: "failed", Description: "d"})
	bus.PublishAt(at, web, "", event.Notice{Text: "word"})
	bus.PublishAt(at, nil, "", event.Notice{Text: "of the run"})
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	bus.PublishAt(at, web, "t", event.TaskEvent{TaskEvent: event.Started()})

	const of = `"time":"2026-01-02T03:04:05.000000006Z","job":"web","group":"g","alloc":"web.g[0]","alloc_id":"1"`
	want := []string{
		`{"seq":1,"type":"task_event",` + of + `,"task":"t","event":"Terminated","message":"Exit Code: 3",` +
			`"details":{"exit_code":"3","oom_killed":"false","signal":"0"}}`,
		`{"seq":2,"type":"task_state",` + of + `,"task":"t","state":"dead","failed":true,"restarts":2}`,
		`{"seq":3,"type":"alloc_status",` + of + `,"status":"failed","description":"Failed tasks","retry_ms":1000}`,
		`{"seq":4,"type":"alloc_health",` + of + `,"healthy":false}`,
		`{"seq":5,"type":"deployment","time":"2026-01-02T03:04:05.000000006Z","job":"web","status":"failed","description":"d"}`,
		`{"seq":6,"type":"diagnostic",` + of + `,"severity":"warning","summary":"word"}`,
	}
	file := filepath.Join(dir, "events.json")
	if diff := cmp.Diff(want, lines(t, file)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v: %v", info.Mode(), err)
	}
}

func lines(t *testing.T, file string) (list []string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		if !json.Valid(s.Bytes()) {
			t.Errorf("not JSON: %s", s.Text())
		}
		list = append(list, s.Text())
	}
	return list
}

func TestHistoryOnAFullDisk(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full here")
	}
	dir := leaktest.TempDir(t)
	if err := os.Symlink("/dev/full", filepath.Join(dir, "events.json")); err != nil {
		t.Fatal(err)
	}
	var bus event.Bus
	h := store.NewHistory(&bus, dir, "web")
	bus.Publish(&event.Alloc{Job: "web"}, "", event.Notice{Text: "word"})
	if err := h.Close(); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("Close: %v", err)
	}
}

// A continued history continues its numbers, also after half a line.
func TestHistoryIsNumberedOn(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	file := filepath.Join(dir, "events.json")
	write := func(text string) {
		t.Helper()
		var bus event.Bus
		h := store.NewHistory(&bus, dir, "web")
		bus.Publish(&event.Alloc{Job: "web", ID: "1"}, "", event.Notice{Text: text})
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write("a")
	write("b")
	all, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(all, "half"...), 0o600); err != nil {
		t.Fatal(err)
	}
	write("c")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var numbers []uint64
	for line := range bytes.Lines(text) {
		numbers = append(numbers, event.Number(line))
	}
	if diff := cmp.Diff([]uint64{1, 2, 0, 3}, numbers); diff != "" {
		t.Errorf("%s\n%s", diff, text)
	}
}
