package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
)

// notices returns the texts of the published notices.
func notices(sub *event.Subscription) (texts []string) {
	for sub.Ready() {
		e, ok := sub.Next(context.Background())
		if !ok {
			break
		}
		if n, ok := e.Body.(event.Notice); ok {
			texts = append(texts, n.Text)
		}
	}
	return texts
}

const keptAgain = "the state of the run is stored again"

// wantNews fails unless exactly this notice, or none if it is empty, was
// published since the last call.
func wantNews(t *testing.T, sub *event.Subscription, when, want string) {
	t.Helper()
	got := notices(sub)
	if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
		t.Errorf("%s: %q, want %q", when, got, want)
	}
}

// TestStateIsWrittenAgain removes the directory of the state and restores it:
// both are reported once, and the state is written even without an event.
func TestStateIsWrittenAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus := &event.Bus{}
		sub := bus.Subscribe(false)
		r, dir := create(t, bus)
		state, away := filepath.Join(dir, stateDir), filepath.Join(dir, "away")
		rename := func(from, to string) {
			t.Helper()
			if err := os.Rename(from, to); err != nil {
				t.Fatal(err)
			}
		}
		for n := range 2 { // it can fail more than once
			rename(state, away)
			r.journal.file.Close() // so that the next write fails
			commit(r, 2*n)
			wantNews(t, sub, "no directory", "a later engine could not continue it: ")
			commit(r, 2*n+1)
			<-time.After(10*againTime + againTime/2)
			synctest.Wait()
			wantNews(t, sub, "still none", "")
			rename(away, state)
			<-time.After(againTime / 4)
			synctest.Wait()
			wantNews(t, sub, "before the next attempt", "")
			<-time.After(againTime / 4)
			synctest.Wait()
			wantNews(t, sub, "after it", keptAgain)
			if !HasState(dir) {
				t.Error("there is no state")
			}
			<-time.After(10 * againTime)
			synctest.Wait()
			wantNews(t, sub, "all is well", "")
		}
		// The notices, the last of which is not stored, are also numbered.
		if _, last, err := reopen(t, r, dir).Past(); last != 11 || err != nil {
			t.Errorf("the last event is %d, %v", last, err)
		}
	})
}

// TestClosedRecorderWritesNoMore closes a recorder that fails: it neither
// retries nor writes later commits.
func TestClosedRecorderWritesNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bus := &event.Bus{}
		sub := bus.Subscribe(false)
		r, dir := create(t, bus)
		r.journal.file.Close()
		commit(r, 0)
		wantNews(t, sub, "closed file", "a later engine could not continue it: ")
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		<-time.After(10 * againTime)
		synctest.Wait()
		if commit(r, 1); HasState(dir) {
			t.Error("a closed recorder writes")
		}
		if got := notices(sub); len(got) > 0 && got[0] != keptAgain {
			t.Errorf("told %q", got)
		}
		if _, err := r.journal.history.Stat(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("the history is open: %v", err)
		}
	})
}

// unwritable makes the history refuse writes until the returned function is
// called.
func unwritable(t *testing.T, r *Recorder, dir string) (again func()) {
	t.Helper()
	// A file opened for appending can be truncated, but not written at an
	// offset.
	broken, err := os.OpenFile(filepath.Join(dir, historyFile), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	whole := r.journal.history
	t.Cleanup(func() { _, _ = broken.Close(), whole.Close() })
	r.journal.history = broken
	return func() { r.journal.history = whole }
}

// wantHistory fails unless the history contains the commits 0 to n.
func wantHistory(t *testing.T, dir string, n int) {
	t.Helper()
	lines := strings.Split(readFile(t, dir, historyFile), "\n")
	if len(lines) != 2*n+1 {
		t.Fatalf("%d lines, want %d", len(lines)-1, 2*n)
	}
	for i := range n {
		if want := `"message":"` + string(rune('0'+i)) + `"`; !strings.Contains(lines[2*i], want) || !strings.Contains(lines[2*i+1], "task_state") {
			t.Errorf("lines %d: %q", 2*i, lines[2*i:2*i+2])
		}
	}
}

// TestHistoryWriteFails recovers missing lines in three ways: at the next
// event, at the end of the run, and by another engine.
func TestHistoryWriteFails(t *testing.T) {
	t.Parallel()
	for name, get := range map[string]func(t *testing.T, r *Recorder, dir string, again func()) (total int){
		"the next event": func(t *testing.T, r *Recorder, dir string, again func()) int {
			again()
			commit(r, 3)
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			return 4
		},
		"the end": func(t *testing.T, r *Recorder, _ string, again func()) int {
			again()
			if err := r.Remove(); err != nil {
				t.Error(err)
			}
			return 3
		},
		"an end without it": func(t *testing.T, r *Recorder, dir string, _ func()) int {
			if err := r.Remove(); err == nil || HasState(dir) {
				t.Errorf("%v; a state is there: %v", err, HasState(dir))
			}
			return 1
		},
		"another engine": func(t *testing.T, r *Recorder, dir string, again func()) int {
			_ = reopen(t, r, dir)
			return 3
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // in virtual time, so that nothing is retried meanwhile
				bus := &event.Bus{}
				sub := bus.Subscribe(false)
				r, dir := create(t, bus)
				commit(r, 0)
				again := unwritable(t, r, dir)
				commit(r, 1)
				commit(r, 2)
				wantNews(t, sub, "the history is broken", "O_APPEND")
				wantHistory(t, dir, 1)
				wantHistory(t, dir, get(t, r, dir, again))
			})
		})
	}
}

func TestFrozenRecorderStillPublishes(t *testing.T) {
	t.Parallel()
	bus := &event.Bus{}
	sub := bus.Subscribe(false)
	r, dir := create(t, bus)
	commit(r, 0)
	state, history := readFile(t, dir, stateDir, stateFile), readFile(t, dir, historyFile)
	r.HaltWhen(func() bool { return true })
	commit(r, 1)
	if got := drain(sub); len(got) != 4 {
		t.Errorf("published %q", got)
	}
	if err := r.Remove(); err != nil {
		t.Error(err)
	}
	if readFile(t, dir, stateDir, stateFile) != state || readFile(t, dir, historyFile) != history {
		t.Error("a frozen recorder has written")
	}
}

// TestStateWithoutAHistory puts a directory in the place of the history: the
// state is still usable, and remains.
func TestStateWithoutAHistory(t *testing.T) {
	t.Parallel()
	dir, path := makeState(t)
	history := filepath.Join(dir, historyFile)
	if err := errors.Join(os.Remove(history), os.Mkdir(history, 0o700)); err != nil {
		t.Fatal(err)
	}
	state := readFile(t, path)
	for name, try := range map[string]func() (*Recorder, error){
		"cannot read the state of the run":  func() (*Recorder, error) { return Open(&event.Bus{}, dir) },
		"cannot store the state of the run": func() (*Recorder, error) { return Create(&event.Bus{}, dir, Change{}) },
	} {
		r, err := try()
		if r != nil || !errors.Is(err, syscall.EISDIR) || !strings.HasPrefix(err.Error(), name) || errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%v, %v; want %s", r, err, name)
		}
	}
	if got := readFile(t, path); got != state {
		t.Errorf("the state is %q", got)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("beside the state: %v, %v", entries, err)
	}
}

// TestStateCreationFails puts a directory at the path of the new file, and at
// its final path.
func TestStateCreationFails(t *testing.T) {
	t.Parallel()
	for name, left := range map[string][]string{stateFile: {stateFile}, stateFile + ".new": {stateFile + ".new"}} {
		dir := leaktest.TempDir(t)
		if err := os.MkdirAll(filepath.Join(dir, stateDir, name, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
		if r, err := Create(&event.Bus{}, dir, Change{}); r != nil || err == nil {
			t.Errorf("%s: %v, %v", name, r, err)
		}
		entries, err := os.ReadDir(filepath.Join(dir, stateDir))
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if diff := cmp.Diff(left, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}

func TestHistoryCreationFails(t *testing.T) {
	t.Parallel()
	var bus event.Bus
	h := NewHistory(&bus, filepath.Join(leaktest.TempDir(t), "none"), "web")
	failure := <-h.done
	bus.Publish(web, "", event.Notice{Text: "nobody reads this"})
	if e, ok := h.sub.Next(context.Background()); ok {
		t.Errorf("event %d piles up", e.Seq)
	}
	h.done <- failure
	if err := h.Close(); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "cannot keep the history of the run: ") {
		t.Errorf("Close: %v", err)
	}
}
