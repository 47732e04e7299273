package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
)

// A change deletes the events of a job, of one of its versions or of an
// evaluation, and leaves the others.
func TestForgottenEvents(t *testing.T) {
	t.Parallel()
	about := event.Evaluation{Job: "web", ID: "e2", Trigger: "alloc-stop", Alloc: web.ID}
	events := []event.Event{
		{Body: event.Notice{Text: "n"}},              // 1, the first of the run
		{Body: event.Version{Job: "web", Number: 1}}, // 2
		{Body: event.Version{Job: "web", Number: 2}},
		{Body: event.Version{Job: "web", Number: 1, Stable: true}}, // 4
		{Body: event.Deployment{Job: "web", ID: "d1", Status: "running"}},
		{Body: event.Deployment{Job: "web", ID: "d1", Status: "successful"}}, // 6
		{Body: event.Deployment{Job: "web", ID: "d2", Status: "running"}},
		{Body: event.Evaluation{Job: "web", ID: "e1"}}, // 8
		{Body: about},
		{Body: event.Version{Job: "other", Number: 1}}, // 10
		{Alloc: web, Body: event.AllocStatus{Status: "running"}},
	}
	for name, c := range map[string]struct {
		forget func(*Change)
		want   []uint64
	}{
		"nothing":                        {func(*Change) {}, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
		"a version":                      {func(c *Change) { c.ForgetVersion("web", 1, "d1") }, []uint64{1, 3, 7, 8, 9, 10, 11}},
		"a version without a deployment": {func(c *Change) { c.ForgetVersion("web", 2, "") }, []uint64{1, 2, 4, 5, 6, 7, 8, 9, 10, 11}},
		"an evaluation":                  {func(c *Change) { c.ForgetEvaluation(event.Evaluation{Job: "web", ID: "e1"}) }, []uint64{1, 2, 3, 4, 5, 6, 7, 9, 10, 11}},
		"an evaluation of an allocation": {func(c *Change) { c.ForgetEvaluation(about) }, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 10, 11}},
		"an allocation":                  {func(c *Change) { c.ForgetAlloc(web.ID) }, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 10}},
		"a job":                          {func(c *Change) { c.ForgetJob("web") }, []uint64{1, 9, 10, 11}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, dir := create(t, &event.Bus{})
			commitEvents(r, events...)
			var change Change
			c.forget(&change)
			r.Commit(change)
			got, last, err := reopen(t, r, dir).Past()
			var seqs []uint64
			for _, e := range got {
				seqs = append(seqs, e.Seq)
			}
			if diff := cmp.Diff(c.want, seqs); diff != "" || last != 11 || err != nil {
				t.Errorf("last %d, %v (-want +got):\n%s", last, err, diff)
			}
		})
	}
}

// Try stores a change, or changes nothing.
func TestTry(t *testing.T) {
	t.Parallel()
	changeOf := func(value any) (c Change) {
		c.Put("a", value)
		return c
	}
	for _, rests := range []bool{false, true} {
		r, dir := create(t, &event.Bus{})
		if rests {
			if err := r.Wake(); err != nil || !r.Rest() {
				t.Fatal(err)
			}
		}
		if err := r.Try(changeOf(1)); err != nil {
			t.Fatal(err)
		}
		if r.closed != rests {
			t.Errorf("rests: %t, closed: %t", rests, r.closed)
		}
		if err := r.Try(changeOf(func() {})); err == nil {
			t.Error("what has no JSON is stored")
		}
		var n int
		if ok, err := r.Get("a", &n); !ok || err != nil || n != 1 {
			t.Errorf("at first %d, %t, %v", n, ok, err)
		}
		back := reopen(t, r, dir)
		if ok, err := back.Get("a", &n); !ok || err != nil || n != 1 {
			t.Errorf("then %d, %t, %v", n, ok, err)
		}
		back.HaltWhen(func() bool { return true })
		if err := back.Try(changeOf(2)); err != nil || !back.Halted() {
			t.Errorf("halted: %t, %v", back.Halted(), err)
		}
		if ok, err := back.Get("a", &n); !ok || err != nil || n != 1 {
			t.Errorf("after the halt %d, %t, %v", n, ok, err)
		}
	}
}

// Try tells that a disk is full, and the recorder is as good as before.
func TestTryOnAFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("there is no full disk here: %v", err)
	}
	defer full.Close()
	r, dir := create(t, &event.Bus{})
	put(r, "a", 1)
	var c Change
	c.Put("a", 2)
	disk := r.journal.file
	r.journal.file = full
	if err := r.Try(c); err == nil || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("the error is %v", err)
	}
	var n int
	if ok, err := r.Get("a", &n); !ok || err != nil || n != 1 {
		t.Errorf("it is %d, %t, %v", n, ok, err)
	}
	r.journal.file = nil
	if err := r.Try(c); err == nil || err.Error() != "its state cannot be written at present" {
		t.Errorf("without a file the error is %v", err)
	}
	r.journal.file, r.journal.unwritten = disk, "line"
	if err := r.Try(c); err == nil || err.Error() != "its state cannot be written at present" {
		t.Errorf("without its history the error is %v", err)
	}
	r.journal.unwritten = ""
	back := reopen(t, r, dir)
	if ok, err := back.Get("a", &n); !ok || err != nil || n != 1 {
		t.Errorf("afterwards %d, %t, %v", n, ok, err)
	}
}

// A recorder that stores nothing has nothing to wake, halt or try.
func TestRestOfWhatIsNotDurable(t *testing.T) {
	t.Parallel()
	r := NewRecorder(&event.Bus{})
	var c Change
	c.Put("a", 1)
	if err := errors.Join(r.Wake(), r.Try(c)); err != nil || r.Rest() || r.Halted() {
		t.Errorf("%v, rests: %t, halted: %t", err, r.Rest(), r.Halted())
	}
}

// A change that was reset is empty again.
func TestReset(t *testing.T) {
	t.Parallel()
	var c Change
	c.Put("a", 1)
	c.Drop("b")
	c.DropAll("c")
	c.Add(event.Event{Body: event.Notice{Text: "n"}})
	c.Reset()
	if !c.isEmpty() {
		t.Errorf("it is %+v", c)
	}
	for name, add := range map[string]func(*Change){
		"a value": func(c *Change) { c.Put("a", 1) }, "a key": func(c *Change) { c.Drop("b") }, "a prefix": func(c *Change) { c.DropAll("c") },
		"an event": func(c *Change) { c.Add(event.Event{}) },
	} {
		var c Change
		if add(&c); c.isEmpty() {
			t.Errorf("a change with %s is empty", name)
		}
	}
}

// The number of a history is that of its last whole line, which a reader can
// find after damaged ones.
func TestLastNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{
		"": 0, "\n": 0, "nonsense": 0, "{\"seq\":7}\n": 7, "{\"seq\":7}\n{\"seq\":8}\n": 8, "{\"seq\":7}\n{\"seq\":8}": 7,
		"{\"seq\":7}\nnonsense\n\n": 7, "{\"seq\":7}": 0, "{\"seq\":9}\n" + strings.Repeat("x", maxLine) + "\n": 9,
		"{\"seq\":9}\n" + strings.Repeat("x", 2*maxLine) + "\n": 0,
	} {
		path := filepath.Join(leaktest.TempDir(t), "history")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := lastNumber(file); got != want || err != nil {
			t.Errorf("of %.30q: %d, %v, want %d", text, got, err, want)
		}
		_ = file.Close()
		if _, err := lastNumber(file); err == nil {
			t.Error("a closed file has a number")
		}
		l, err := openLines(path)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = l.Write([]byte("next\n"))
		if err := errors.Join(l.flush(), l.file.Close()); err != nil {
			t.Fatal(err)
		}
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n" // a half line has an end
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text+"next\n" {
			t.Errorf("after %.30q another line is %.60q, %v", text, got, err)
		}
	}
}
