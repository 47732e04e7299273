package keeper

import (
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"taskrun/drivers/process"
)

// notices returns a watch that belongs to no run of this program, and its
// notices. With a link it starts no keeper.
func notices(l *link) (*Watch, *[]string) {
	var said []string
	return &Watch{
		link: l, helpers: process.NewHelpers(), opened: make(chan struct{}), closing: make(chan struct{}),
		notice: func(text string) { said = append(said, text) },
	}, &said
}

// recording is notices with an open record.
func recording(t *testing.T, l *link) (*Watch, *record) {
	t.Helper()
	w, said := notices(l)
	dir := private(t)
	w.open(func() (*record, error) { return createRecord(dir) })
	if len(*said) > 0 {
		t.Fatal(*said)
	}
	t.Cleanup(func() { _ = w.record.file.Close() })
	return w, w.record
}

func contentsOf(t *testing.T, r *record) contents {
	t.Helper()
	c, err := parse(r.file)
	if err != nil || r.err != nil {
		t.Fatal(err, r.err)
	}
	return c
}

func TestDeathsInARow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		before int
		lived  time.Duration
		want   int
	}{{0, 0, 1}, {1, 0, 2}, {3, quick, 4}, {3, quick + 1, 1}, {0, time.Hour, 1}} {
		if got := deathsInARow(c.before, c.lived, quick); got != c.want {
			t.Errorf("after %d deaths one that lived for %v makes %d, want %d", c.before, c.lived, got, c.want)
		}
	}
}

// Writes before the record is open are done then, in order.
func TestWritesWaitForTheRecord(t *testing.T) {
	t.Parallel()
	w, said := notices(&link{})
	w.Socket("/a")
	w.Run("/b")
	dir := private(t)
	w.open(func() (*record, error) { return createRecord(dir) })
	<-w.opened
	w.Socket("/c")
	w.Lasting("docker", "a line")
	c := contentsOf(t, w.record)
	if !slices.Equal(c.sockets, []string{"/a", "/c"}) || !slices.Equal(c.dirs, []string{"/b"}) {
		t.Errorf("the record names sockets %q, directories %q", c.sockets, c.dirs)
	}
	if !slices.Equal(c.lasting, []lasting{{"docker", "a line"}}) {
		t.Errorf("the record names %v", c.lasting)
	}
	if len(w.queue) > 0 || len(*said) > 0 {
		t.Errorf("%d lines wait, notices %q", len(w.queue), *said)
	}
	w.record.file.Close()
}

// Without a record the run continues, with a notice, and without a keeper.
func TestRecordCreationFails(t *testing.T) {
	t.Parallel()
	w, said := notices(nil)
	w.Socket("/a")
	broken := errors.New("no disk")
	w.open(func() (*record, error) { return nil, broken })
	w.Socket("/b")
	if len(w.queue) > 0 {
		t.Error("lines wait for a record that will never be")
	}
	if p, err := w.start(); p != nil || !errors.Is(err, broken) {
		t.Errorf("a keeper was started: %v, %v", p, err)
	}
	w.keep()
	if want := []string{"no disk", "nothing will clean up if taskrun is killed: no disk"}; !slices.Equal(*said, want) {
		t.Errorf("notices %q, want %q", *said, want)
	}
	if err := w.Close(true); err != nil {
		t.Error(err)
	}
	if p, err := w.start(); p != nil || err != nil {
		t.Errorf("after the end: %v, %v", p, err)
	}
	if w.ensureKeeper() {
		t.Error("a watch that is closed starts a keeper")
	}
	(&Watch{}).say("nobody listens")
	if err := New().Close(true); err != nil {
		t.Errorf("one that was not begun: %v", err)
	}
}

// In the foreground the record has the mark of the program, once, and each
// started process.
func TestEntriesInTheForeground(t *testing.T) {
	t.Parallel()
	w, r := recording(t, nil)
	w.closed = true // no keeper
	id := process.ID{PID: 7, Start: 8}
	one, other := w.Intend("a/t"), w.Intend("b/t")
	if c := contentsOf(t, r); len(c.intents)+len(c.started) > 0 {
		t.Errorf("before the fork there is %+v", c)
	}
	one.Started(id)
	c := contentsOf(t, r)
	number, _ := process.Mark()
	if c.mark != number || len(c.started) != 1 || c.started[0].ID != id || c.started[0].Tag != "a/t" {
		t.Errorf("mark %d, want %d; processes %+v", c.mark, number, c.started)
	}
	if text, err := os.ReadFile(r.path); err != nil || strings.Count(string(text), "mark ") > 1 {
		t.Errorf("the record is %q, %v", text, err)
	}
	other.Remove()
	one.Remove()
	if c := contentsOf(t, r); len(c.started) > 0 {
		t.Errorf("after the end there is %+v", c.started)
	}
}

// In a detached run each process is recorded before it is forked, and no other
// is forked until its PID is recorded.
func TestEntriesOfADetachedRun(t *testing.T) {
	t.Parallel()
	w, r := recording(t, &link{})
	forks := func() bool {
		if !w.forking.TryLock() {
			return false
		}
		w.forking.Unlock()
		return true
	}
	before := process.Now()
	e := w.Intend("a/t")
	c := contentsOf(t, r)
	if len(c.intents) != 1 || c.intents[0].tag != "a/t" || c.intents[0].since < before || forks() {
		t.Errorf("before the fork: %+v, another may be forked: %t", c.intents, forks())
	}
	id, end := process.ID{PID: math.MaxInt, Start: math.MaxInt}, r.end
	e.Started(id)
	c = contentsOf(t, r)
	if len(c.intents) > 0 || len(c.started) != 1 || c.started[0].ID != id || r.end != end || !forks() {
		t.Errorf("after the fork: %+v, %+v, another may be forked: %t", c.intents, c.started, forks())
	}
	again := w.Intend("b/t")
	again.Remove() // it could not be forked
	if c := contentsOf(t, r); len(c.intents) > 0 || len(c.started) != 1 || !forks() {
		t.Errorf("after a fork that failed: %+v, %+v, another may be forked: %t", c.intents, c.started, forks())
	}
	w.recalled = map[process.ID]cell{id: c.started[0].cell}
	w.Recall(process.ID{PID: 1}).Remove()
	if c := contentsOf(t, r); len(c.started) != 1 {
		t.Error("what an earlier instance did not start is removed")
	}
	w.Recall(id).Remove()
	e.Remove()
	if c := contentsOf(t, r); len(c.started) > 0 || !forks() {
		t.Errorf("after the end: %+v", c.started)
	}
}

// Nothing that would need to be found after a kill of this program begins before
// the record is open.
func TestNothingBeginsWithoutARecord(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*Watch){
		"process": func(w *Watch) { w.Intend("a/t").Remove() },
		"lasting": func(w *Watch) { w.Lasting("docker", "a line") },
	} {
		synctest.Test(t, func(t *testing.T) {
			w, _ := notices(&link{})
			begun := false
			go func() {
				begin(w)
				begun = true
			}()
			synctest.Wait()
			if begun {
				t.Errorf("%s: it began without a record", name)
			}
			close(w.opened)
			synctest.Wait()
			if !begun {
				t.Errorf("%s: it waits although the record is open", name)
			}
		})
	}
}
