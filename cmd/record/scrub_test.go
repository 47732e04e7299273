package record

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/history"
	"taskrun/cmd/outcome"
	"taskrun/cmd/ui/view"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
)

// hides returns an exporter that replaces the secret.
func hides(output bool) *exporter {
	return &exporter{Export: &Export{Output: output}, clean: strings.NewReplacer("SECRET", "xxxxx").Replace}
}

// Secrets are removed from all texts of events, and the output of checks with that of
// tasks.
func TestScrubbedEvents(t *testing.T) {
	t.Parallel()
	said := &api.TaskEvent{Type: "Setup", DisplayMessage: "a SECRET", Details: map[string]string{"message": "its SECRET", "other": "x"}}
	for _, c := range []struct{ body, want event.Body }{
		{event.TaskEvent{TaskEvent: said}, event.TaskEvent{TaskEvent: &api.TaskEvent{Type: "Setup", DisplayMessage: "a xxxxx", Details: map[string]string{"message": "its xxxxx", "other": "x"}}}},
		{event.AllocStatus{Status: "failed", Description: "SECRET"}, event.AllocStatus{Status: "failed", Description: "xxxxx"}},
		{event.Deployment{ID: "d", Description: "SECRET"}, event.Deployment{ID: "d", Description: "xxxxx"}},
		{event.Check{Check: "c", Output: "SECRET", Target: "http://SECRET"}, event.Check{Check: "c", Output: "xxxxx", Target: "http://xxxxx"}},
		{event.Notice{Text: "SECRET"}, event.Notice{Text: "xxxxx"}},
		{event.TaskState{State: "dead"}, event.TaskState{State: "dead"}},
	} {
		if diff := cmp.Diff(c.want, hides(true).scrub(event.Event{Body: c.body}).Body); diff != "" {
			t.Errorf("%T (-want +got):\n%s", c.body, diff)
		}
	}
	if said.DisplayMessage != "a SECRET" || said.Details["message"] != "its SECRET" {
		t.Errorf("the event itself was changed: %+v", said)
	}
	want := event.Check{Check: "c", Target: "t"}
	if got := hides(false).scrub(event.Event{Body: event.Check{Check: "c", Output: "printed", Target: "t"}}).Body; got != want {
		t.Errorf("without output: %+v", got)
	}
}

func TestScrubbedSummary(t *testing.T) {
	t.Parallel()
	whole := view.Summary{Cause: "SECRET", Reason: "a SECRET", FirstFailure: &outcome.Failure{Task: "t", Message: "no SECRET", LastOutput: "printed"}}
	for output, last := range map[bool]string{true: "printed", false: ""} {
		want := view.Summary{Cause: "xxxxx", Reason: "a xxxxx", FirstFailure: &outcome.Failure{Task: "t", Message: "no xxxxx", LastOutput: last}}
		if diff := cmp.Diff(want, hides(output).summary(whole)); diff != "" {
			t.Errorf("with output %v (-want +got):\n%s", output, diff)
		}
	}
	if whole.FirstFailure.Message != "no SECRET" {
		t.Error("the summary itself was changed")
	}
	if diff := cmp.Diff(view.Summary{Status: "complete"}, hides(false).summary(view.Summary{Status: "complete"})); diff != "" {
		t.Errorf("of a run without a failure: %s", diff)
	}
}

// Environments are exported only on request.
func TestExportedEnvironment(t *testing.T) {
	t.Parallel()
	const text = `{"a":"b"}`
	kept := runDir(t, "")
	if err := os.WriteFile(filepath.Join(kept.Dir, EnvironmentFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for wanted, want := range map[bool]string{true: text, false: ""} {
		var file bytes.Buffer
		x := Export{Environment: wanted}
		c, err := x.Write(&file, kept)
		if got := contents(t, file.Bytes())[EnvironmentFile]; err != nil || c.Environment != wanted || got != want {
			t.Errorf("wanted %v: %q, %+v, %v", wanted, got, c, err)
		}
	}
}

// fullDisk takes a number of bytes.
type fullDisk struct{ room int }

var errFull = errors.New("the disk is full")

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.room -= len(p); d.room < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// Wherever the disk is full, the export fails.
func TestExportToAFullDisk(t *testing.T) {
	t.Parallel()
	kept := runDir(t, "one\n")
	if err := os.WriteFile(filepath.Join(kept.Dir, EnvironmentFile), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	x := Export{Output: true, Environment: true}
	var whole bytes.Buffer
	if _, err := x.Write(&whole, kept); err != nil {
		t.Fatal(err)
	}
	for _, room := range []int{0, whole.Len() / 2, whole.Len() - 1} {
		if _, err := x.Write(&fullDisk{room}, kept); !errors.Is(err, errFull) {
			t.Fatalf("with room for %d of %d bytes: %v", room, whole.Len(), err)
		}
	}
	if _, err := x.Write(&fullDisk{whole.Len()}, kept); err != nil {
		t.Error(err)
	}
}

// A file may be as large as the limit, and no larger.
func TestLargestExport(t *testing.T) {
	t.Parallel()
	w := &countingWriter{to: io.Discard, written: maxArchive - 2}
	if n, err := w.Write([]byte("ab")); n != 2 || err != nil {
		t.Errorf("up to the limit: %d, %v", n, err)
	}
	if n, err := w.Write([]byte("c")); n != 0 || err == nil || err.Error() != "the file would be larger than 1.0 GiB" {
		t.Errorf("beyond the limit: %d, %v", n, err)
	}
}

// Entries are refused because of the size that they claim, at exact limits.
func TestEntries(t *testing.T) {
	t.Parallel()
	entry := func(name string, flags uint16, size, compressed uint64) *zip.File {
		return &zip.File{FileHeader: zip.FileHeader{Name: name, Flags: flags, UncompressedSize64: size, CompressedSize64: compressed}}
	}
	for want, list := range map[string][]*zip.File{
		"": {
			entry("x", 0, 0, 0), entry("x", 8, 9, 9), entry(history.File, 0, maxEvents, maxEvents), entry("x", 0, maxEvents+1, 1),
			entry(history.File, 0, smallEntry, 1), entry(history.File, 0, maxRatio<<20, 1<<20),
		},
		`entry "x" is encrypted`:                     {entry("x", 1, 0, 0), entry("x", 9, 0, 0)},
		`entry "events.json" is larger than 1.0 GiB`: {entry(history.File, 0, maxEvents+1, maxEvents)},
		`entry "events.json" is compressed to less than 1/200 of its size: these cannot be events`: {entry(history.File, 0, maxRatio<<20, 1<<20-1)},
	} {
		for _, e := range list {
			got := ""
			if err := checkEntry(e); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%+v: %q, want %q", e.FileHeader, got, want)
			}
		}
	}
}

// The last allocations of a job that an agent has tell how it ended.
func TestStatusOfAKeptJob(t *testing.T) {
	t.Parallel()
	second := &event.Alloc{Job: "web", Group: "g", Name: "web.g[0]", ID: "2"}
	status := func(a *event.Alloc, status string) event.Event {
		return event.Event{Time: begin, Alloc: a, Body: event.AllocStatus{Status: status, Retry: -1}}
	}
	said := func(e *api.TaskEvent) event.Event {
		return event.Event{Time: begin, Alloc: second, Task: "t", Body: event.TaskEvent{TaskEvent: e}}
	}
	for want, events := range map[string][]event.Event{
		"lost":     nil,
		"complete": {status(alloc, "failed"), status(second, "complete")},
		"failed":   {status(alloc, "complete"), status(second, "failed")},
		"stopped":  {status(alloc, "failed"), said(event.Started()), said(event.Killing(time.Second)), status(second, "complete")},
	} {
		dir := leaktest.TempDir(t)
		var text []byte
		for i, e := range events {
			line, err := e.Line(uint64(i) + 1)
			if err != nil {
				t.Fatal(err)
			}
			text = append(text, line...)
		}
		path := filepath.Join(dir, history.File)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if events == nil {
			if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
				t.Fatal(err)
			}
		}
		r := At(dir, "web")
		if r.Kept = true; r.Status() != want {
			t.Errorf("%q, want %q", r.Status(), want)
		}
		if r.Live = true; r.Status() != "running" {
			t.Errorf("while it is live: %q", r.Status())
		}
	}
}

// A run whose ID has no time began with its first event.
func TestBeginningOfARun(t *testing.T) {
	t.Parallel()
	r := runDir(t, "")
	if r.ID = "another"; !r.Began().Equal(begin) {
		t.Errorf("by its events it began at %v", r.Began())
	}
	if got := At(leaktest.TempDir(t), "web").Began(); !got.IsZero() {
		t.Errorf("a run without events began at %v", got)
	}
}
