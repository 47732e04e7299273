package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
)

var web = &event.Alloc{Job: "web", Group: "g", Name: "web.g[0]", ID: "1"}

// commit stores a value and publishes a notice and an event.
func commit(r *Recorder, n int) {
	var c Change
	c.Put(KeyOf("number", "a/b", fmt.Sprint(n%3)), n)
	for _, body := range []event.Body{
		event.TaskEvent{TaskEvent: &api.TaskEvent{Type: "Started", DisplayMessage: fmt.Sprint(n), Time: int64(n)}},
		event.TaskState{State: "running", Restarts: uint64(n)},
	} {
		c.Add(event.Event{Time: time.Unix(int64(n), 0).UTC(), Alloc: web, Task: "t", Body: body})
	}
	r.Commit(c)
}

func readFile(t *testing.T, name ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(name...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// drain returns the events that were published.
func drain(sub *event.Subscription) (texts []string) {
	for sub.Ready() {
		e, ok := sub.Next(context.Background())
		if !ok {
			break
		}
		texts = append(texts, fmt.Sprintf("%d %s %s", e.Seq, e.Task, event.Kind(e.Body)))
	}
	return texts
}

func TestStateRoundTrip(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	bus := &event.Bus{}
	r, err := Create(bus, dir, Change{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 10 {
		commit(r, n)
	}
	var c Change
	c.Put(KeyOf("other", "1", "x"), 1)
	r.Commit(c)
	c.Reset()
	c.Drop(KeyOf("number", "a/b", "1"))
	c.Drop(KeyOf("number", "a/b")) // not a key
	c.DropAll(KeyOf("other", "1"))
	r.Commit(c)
	if !HasState(dir) {
		t.Error("there is no state")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}

	later := &event.Bus{}
	back, err := Open(later, dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, key := range append(back.Keys(KeyOf("number")), back.Keys(KeyOf("other"))...) {
		var n int
		if _, err := back.Get(key, &n); err != nil {
			t.Fatal(err)
		}
		got[strings.Join(key.Parts(), " ")] = n
	}
	if diff := cmp.Diff(map[string]int{"number a/b 0": 9, "number a/b 2": 8}, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	events, last, err := back.Past()
	if err != nil || last != 20 {
		t.Errorf("last event %d: %v", last, err)
	}
	sub := later.Subscribe(false)
	later.Restore(events, last)
	commit(back, 10)
	want := []string{"1 t task_event", "19 t task_event", "20 t task_state", "21 t task_event", "22 t task_state"}
	if diff := cmp.Diff(want, drain(sub)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if lines := strings.Count(readFile(t, dir, historyFile), "\n"); lines != 22 {
		t.Errorf("the history has %d lines", lines)
	}
	for name, want := range map[string]fs.FileMode{stateDir: 0o700 | fs.ModeDir, stateDir + "/" + stateFile: 0o600, historyFile: 0o600} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != want {
			t.Errorf("mode of %s: %v, %v", name, info.Mode(), err)
		}
	}
	if err := back.Remove(); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != historyFile {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestDeathAtEveryWrite stops at every write. The remaining state is
// consistent: the values match the events, and the history both.
func TestDeathAtEveryWrite(t *testing.T) {
	t.Parallel()
	for at := 0; ; at++ {
		dir := leaktest.TempDir(t)
		r, err := Create(&event.Bus{}, dir, Change{})
		if err != nil {
			t.Fatal(err)
		}
		points, dead := 0, false
		r.HaltWhen(func() bool { points++; dead = points > at; return dead })
		for n := range 5 {
			commit(r, n)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if !dead {
			if at < 15 {
				t.Errorf("only %d points", at)
			}
			return
		}
		back, err := Open(&event.Bus{}, dir)
		if err != nil {
			t.Fatalf("point %d: %v", at, err)
		}
		_, last, err := back.Past()
		if err != nil || last%2 != 0 {
			t.Errorf("point %d: half of a change is there: event %d, %v", at, last, err)
		}
		stored := int(last / 2)
		var n int
		if ok, err := back.Get(KeyOf("number", "a/b", fmt.Sprint((stored-1)%3)), &n); stored > 0 && (!ok || err != nil || n != stored-1) {
			t.Errorf("point %d: %d changes, the last number %d, %v", at, stored, n, err)
		}
		for n := stored; n < 5; n++ {
			commit(back, n)
		}
		lines := strings.Split(strings.TrimSpace(readFile(t, dir, historyFile)), "\n")
		if len(lines) != 10 {
			t.Errorf("point %d: the history has %d lines, want 10", at, len(lines))
		}
		for i := 0; i < len(lines); i += 2 {
			if !strings.Contains(lines[i], fmt.Sprintf("%q:\"%d\"", "message", i/2)) {
				t.Errorf("point %d: line %d of the history is %s", at, i, lines[i])
			}
		}
		if err := back.Close(); err != nil {
			t.Error(err)
		}
	}
}

// makeState creates a state file and returns the directory of its run.
func makeState(t *testing.T) (dir, path string) {
	t.Helper()
	dir = leaktest.TempDir(t)
	r, err := Create(&event.Bus{}, dir, Change{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		commit(r, n)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, filepath.Join(dir, stateDir, stateFile)
}

func TestIncompleteLastLine(t *testing.T) {
	t.Parallel()
	dir, path := makeState(t)
	text := readFile(t, path)
	history := readFile(t, dir, historyFile)
	end := strings.LastIndex(text[:len(text)-1], "\n") + 1
	for cut := end; cut < len(text); cut += 7 {
		if err := os.WriteFile(path, []byte(text[:cut]), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, historyFile), []byte(history[:len(history)-cut%50]), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(&event.Bus{}, dir)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if _, last, _ := r.Past(); last != 4 {
			t.Errorf("cut at %d: last event %d, want 4", cut, last)
		}
		commit(r, 2)
		if got := readFile(t, dir, historyFile); got != history {
			t.Errorf("cut at %d: history\n%s\nwant\n%s", cut, got, history)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestUnusableStateIsSetAside(t *testing.T) {
	t.Parallel()
	damage := func(change func(string) string) func(string) string { return change }
	for name, tt := range map[string]struct {
		change func(string) string
		want   string
	}{
		"empty":              {damage(func(string) string { return "" }), "was not written to its end"},
		"half a header":      {damage(func(s string) string { return s[:20] }), "was not written to its end"},
		"no record":          {damage(func(s string) string { return s[:strings.Index(s, "\n")+1] }), "was not written to its end"},
		"half a first one":   {damage(func(s string) string { return s[:strings.Index(s, "\n")+9] }), "was not written to its end"},
		"foreign":            {damage(func(string) string { return strings.Repeat("something else\n", 20) }), "is not a state file of taskrun"},
		"foreign, in a line": {damage(func(string) string { return strings.Repeat("x", maxHeader) }), "is not a state file of taskrun"},
		"less than a header": {damage(func(string) string { return strings.Repeat("x", maxHeader-1) }), "was not written to its end"},
		"another format": {
			damage(func(s string) string {
				return headerOf(t, header{Format: "something", Version: version}) + s[strings.Index(s, "\n")+1:]
			}),
			"is not a state file of taskrun",
		},
		"older": {
			damage(func(s string) string {
				return headerOf(t, header{Format: format, Version: version - 1}) + s[strings.Index(s, "\n")+1:]
			}),
			"has version 1, but this taskrun can only read version 2",
		},
		"damaged":  {damage(func(s string) string { return strings.Replace(s, "task_state", "task_strte", 1) }), "is damaged in line 3: wrong checksum"},
		"cut open": {damage(func(s string) string { i := strings.Index(s, "running"); return s[:i] + "\n" + s[i+1:] }), "is damaged in line 3: wrong checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, path := makeState(t)
			broken := tt.change(readFile(t, path))
			if err := os.WriteFile(path, []byte(broken), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Open(&event.Bus{}, dir)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v, want %q", err, tt.want)
			}
			aside, globErr := filepath.Glob(path + ".*")
			if globErr != nil || len(aside) != 1 || !strings.Contains(err.Error(), aside[0]) || readFile(t, aside[0]) != broken {
				t.Errorf("set aside as %v; the error: %v", aside, err)
			}
			if HasState(dir) {
				t.Error("the state is still there")
			}
		})
	}
}

func headerOf(t *testing.T, h header) string {
	text, err := appendLine(nil, h)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestStateStaysSmall(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	r, err := Create(&event.Bus{}, dir, Change{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 10_000 {
		commit(r, n)
	}
	info, err := os.Stat(filepath.Join(dir, stateDir, stateFile))
	if err != nil || info.Size() > 2*compactAt {
		t.Errorf("%d bytes: %v", info.Size(), err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	back, err := Open(&event.Bus{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, last, err := back.Past(); last != 20_000 || err != nil {
		t.Errorf("last event %d: %v", last, err)
	}
	if lines := strings.Count(readFile(t, dir, historyFile), "\n"); lines != 20_000 {
		t.Errorf("the history has %d lines", lines)
	}
	if err := back.Close(); err != nil {
		t.Error(err)
	}
}

func TestStateWriteFails(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	bus := &event.Bus{}
	sub := bus.Subscribe(false)
	r, err := Create(bus, dir, Change{})
	if err != nil {
		t.Fatal(err)
	}
	commit(r, 0)
	r.journal.file.Close() // the next write fails
	commit(r, 1)
	if HasState(dir) {
		t.Error("a state that lacks a change is there")
	}
	commit(r, 2) // and this one succeeds
	want := []string{
		"1 t task_event", "2 t task_state", "3 t task_event", "4 t task_state", "5  notice", "6 t task_event", "7 t task_state", "8  notice",
	}
	if diff := cmp.Diff(want, drain(sub)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	back, err := Open(&event.Bus{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if ok, err := back.Get(KeyOf("number", "a/b", "1"), &n); !ok || err != nil || n != 1 {
		t.Errorf("the number that could not be written is %d, %v", n, err)
	}
	if err := back.Close(); err != nil {
		t.Error(err)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, want := range []Text{"", "plain", "\"{", "caf\xe9 \x00\xff"} {
		text, err := want.MarshalJSON()
		var got Text
		if err == nil {
			err = got.UnmarshalJSON(text)
		}
		if err != nil || got != want {
			t.Errorf("%q came back as %q: %v", want, got, err)
		}
	}
}

// FuzzReadState reads any text; a state that it accepts must be one that it
// would write.
func FuzzReadState(f *testing.F) {
	s := newState()
	s.apply(&record{Seq: 3, At: 9, Text: "{}\n", Put: map[Key]json.RawMessage{KeyOf("a", "b"): json.RawMessage("1")}})
	text, err := s.snapshot()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:len(text)-3])
	f.Add([]byte("00000000 {}\n"))
	more, err := appendLine(text, &record{Seq: 4, All: []Key{KeyOf("a")}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(more)
	f.Fuzz(func(t *testing.T, text []byte) {
		checkState(t, text)
		checkState(t, withChecksums(text))
	})
}

// withChecksums corrects the checksums of all lines.
func withChecksums(text []byte) (fixed []byte) {
	for _, line := range bytes.SplitAfter(text, []byte("\n")) {
		if body, whole := bytes.CutSuffix(line, []byte("\n")); len(body) > 9 && whole {
			line = fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE(body[9:]), body[9:])
		}
		fixed = append(fixed, line...)
	}
	return fixed
}

func checkState(t *testing.T, text []byte) {
	s, length, err := readState(text)
	if err != nil {
		return
	}
	if length > len(text) || length == 0 || text[length-1] != '\n' {
		t.Errorf("length %d of %d", length, len(text))
	}
	again, err := s.snapshot()
	if err != nil {
		t.Fatal(err)
	}
	back, _, err := readState(again)
	if err != nil {
		t.Fatal(err)
	}
	if back.seq != s.seq || back.live != s.live || !bytes.Equal([]byte(back.text), []byte(s.text)) {
		t.Errorf("%+v came back as %+v", s, back)
	}
}
