package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
)

func openLedger(t *testing.T, dir string) (*Ledger, *event.Bus) {
	t.Helper()
	bus := &event.Bus{}
	l, err := OpenLedger(bus, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, bus
}

func note(l *Ledger, key, value string) error {
	var c Change
	c.Put(KeyOf("n", key), value)
	c.Add(event.Event{Body: event.Notice{Text: key + "=" + value}})
	return l.Commit(c, func() {})
}

// kept returns what a ledger has, as "key=value".
func kept(t *testing.T, l *Ledger) (list []string) {
	t.Helper()
	for _, key := range l.Keys(KeyOf("n")) {
		var value string
		if _, err := l.Get(key, &value); err != nil {
			t.Error(err)
		}
		list = append(list, key.Parts()[1]+"="+value)
	}
	return list
}

// A change that cannot be stored has not happened: it is neither announced nor
// visible.
func TestLedgerRefusesWhatItCannotStore(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	l, bus := openLedger(t, dir)
	if err := note(l, "a", "1"); err != nil {
		t.Fatal(err)
	}
	sub := bus.Subscribe(false)
	writable := l.file
	broken, err := os.Open(l.path) // which cannot be written
	if err != nil {
		t.Fatal(err)
	}
	defer broken.Close()
	l.file = broken
	if err := note(l, "a", "2"); err == nil || !strings.Contains(err.Error(), "cannot write the state of the agent") {
		t.Errorf("error %v", err)
	}
	l.file = writable
	if got := kept(t, l); !slices.Equal(got, []string{"a=1"}) || sub.Ready() {
		t.Errorf("it has %q; something is published: %v", got, sub.Ready())
	}
	if err := note(l, "b", "1"); err != nil {
		t.Error(err)
	}
	var c Change
	c.Put(KeyOf("n", "c"), func() {}) // which has no JSON
	if err := l.Commit(c, func() { t.Error("stored") }); err == nil {
		t.Error("no error")
	}
	bus.Close()
	if err := note(l, "d", "1"); err == nil {
		t.Error("a closed bus publishes")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := l.Store(Change{puts: map[Key]any{"x": 1}}); err == nil {
		t.Error("a closed ledger stores")
	}
	later, _ := openLedger(t, dir)
	if got := kept(t, later); !slices.Equal(got, []string{"a=1", "b=1"}) || len(later.Lost()) > 0 {
		t.Errorf("later it has %q, lost %q", got, later.Lost())
	}
}

// The file is rewritten when most of it is outdated, and has a line for each
// record then.
func TestLedgerIsCompacted(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	l, _ := openLedger(t, dir)
	large := strings.Repeat("x", 10<<10)
	for i := range 300 {
		if err := note(l, fmt.Sprint(i%3), fmt.Sprint(i, large)); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, stateFile))
	if err != nil || info.Size() > compactAt+100<<10 || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	later, _ := openLedger(t, dir)
	if got := kept(t, later); len(got) != 3 || !strings.HasPrefix(got[2], "2=299") {
		t.Errorf("%d records, lost %q", len(got), later.Lost())
	}
	if err := later.compact(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(later.path)
	if err != nil || strings.Count(string(text), "\n") != 4 {
		t.Errorf("%d lines, %v", strings.Count(string(text), "\n"), err)
	}
}

// A damaged file stays in its place until its replacement is whole: a program that is
// killed meanwhile loses nothing more.
func TestDamagedLedgerIsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	l, _ := openLedger(t, dir)
	for _, key := range []string{"a", "b"} {
		if err := note(l, key, "1"); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(l.path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := strings.Replace(string(text), `"1"`, `"2"`, 1)
	if err := os.WriteFile(l.path, []byte(damaged), 0o600); err != nil {
		t.Fatal(err)
	}
	next := l.path + ".new" // cannot be written
	if err := os.Mkdir(next, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenLedger(&event.Bus{}, dir); err == nil {
		t.Error("no error")
	}
	if now, err := os.ReadFile(l.path); err != nil || string(now) != damaged {
		t.Errorf("the file is not in its place: %v", err)
	}
	if left, err := filepath.Glob(l.path + ".2*"); err != nil || len(left) > 0 {
		t.Errorf("copies %q, %v", left, err)
	}
	if err := os.RemoveAll(next); err != nil {
		t.Fatal(err)
	}
	later, _ := openLedger(t, dir)
	if got := kept(t, later); !slices.Equal(got, []string{"b=1"}) || len(later.Lost()) != 2 {
		t.Errorf("it has %q, lost %q", got, later.Lost())
	}
}

// A line without an end was never acknowledged, so nothing is lost with it.
func TestLedgerIgnoresAnIncompleteLastLine(t *testing.T) {
	t.Parallel()
	dir := leaktest.TempDir(t)
	l, _ := openLedger(t, dir)
	for _, key := range []string{"a", "b"} {
		if err := note(l, key, "1"); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(l.path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.path, text[:len(text)-2], 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		later, _ := openLedger(t, dir)
		if got := kept(t, later); !slices.Equal(got, []string{"a=1"}) || len(later.Lost()) > 0 {
			t.Errorf("it has %q, lost %q", got, later.Lost())
		}
		if err := later.Close(); err != nil {
			t.Error(err)
		}
	}
}

func FuzzSalvage(f *testing.F) {
	l := NewLedger(&event.Bus{})
	l.values[KeyOf("n", "a")] = json.RawMessage(`"1"`)
	l.path = filepath.Join(f.TempDir(), stateFile)
	if err := l.compact(); err != nil {
		f.Fatal(err)
	}
	defer l.Close()
	text, err := os.ReadFile(l.path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:len(text)-3])
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, length, lost, err := salvage(text)
		if err == nil && len(lost) == 0 && (s == nil || bytes.ContainsRune(text[length:], '\n')) {
			t.Errorf("%d of %d bytes are good, and nothing is lost", length, len(text))
		}
	})
}
