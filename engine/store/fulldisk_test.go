package store

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
)

// TestFullDisk runs in a separate process: the limit of file sizes, which
// simulates a full disk, is for the whole process.
func TestFullDisk(t *testing.T) { //nolint:paralleltest // see above
	const key = "STORE_FULL_DISK"
	if os.Getenv(key) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
		cmd.Env = append(os.Environ(), key+"=yes")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestFullDisk/state") {
			t.Errorf("%v: %s", err, out)
		}
		return
	}
	var whole unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &whole); err != nil {
		t.Fatal(err)
	}
	limit := func(t *testing.T, size int) {
		t.Helper()
		l := whole
		if size > 0 {
			l.Cur = uint64(size)
		}
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &l); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("lines", func(t *testing.T) { linesOnAFullDisk(t, limit) })
	t.Run("history", func(t *testing.T) { historyOnAFullDisk(t, limit) })
	t.Run("state", func(t *testing.T) { stateOnAFullDisk(t, limit) })
	t.Run("try", func(t *testing.T) { tryOnAFullDisk(t, limit) })
}

// Lines that were written in part are later written completely.
func linesOnAFullDisk(t *testing.T, limit func(*testing.T, int)) {
	path := filepath.Join(leaktest.TempDir(t), "lines")
	l, err := openLines(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.file.Close()
	for _, tt := range []struct {
		limit int
		text  string
		fails bool
		want  string
	}{
		{6, "one\ntwo\n", true, ""},
		{13, "three\n", true, ""},
		{14, "", false, "one\ntwo\nthree\n"},
		{20, "four\nfive\n", true, "one\ntwo\nthree\n"},
		{0, "six\n", false, "one\ntwo\nthree\nfour\nfive\nsix\n"},
		{0, "", false, "one\ntwo\nthree\nfour\nfive\nsix\n"},
	} {
		limit(t, tt.limit)
		_, _ = l.Write([]byte(tt.text))
		if err := l.flush(); (err != nil) != tt.fails {
			t.Errorf("limit %d: %v", tt.limit, err)
		}
		if got := readFile(t, path); got != tt.want {
			t.Errorf("limit %d: %q, want %q", tt.limit, got, tt.want)
		}
	}
}

// The history has either all lines of a change, or none.
func historyOnAFullDisk(t *testing.T, limit func(*testing.T, int)) {
	dir := leaktest.TempDir(t)
	earlier := strings.Repeat("an earlier run\n", 1000) // so that the state is smaller
	if err := os.WriteFile(filepath.Join(dir, historyFile), []byte(earlier), 0o600); err != nil {
		t.Fatal(err)
	}
	bus := &event.Bus{}
	sub := bus.Subscribe(false)
	r, err := Create(bus, dir, Change{})
	if err != nil {
		t.Fatal(err)
	}
	limit(t, len(earlier)+300) // more than the first of two lines
	commit(r, 0)
	limit(t, 0)
	wantNews(t, sub, "the disk is full", "file too large")
	if got := readFile(t, dir, historyFile); got != earlier {
		t.Errorf("the history has %q", strings.TrimPrefix(got, earlier))
	}
	commit(r, 1)
	wantNews(t, sub, "it is not any more", keptAgain)
	if got, ok := strings.CutPrefix(readFile(t, dir, historyFile), earlier); !ok || strings.Count(got, "\n") != 4 {
		t.Errorf("the history has %q", got)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// A state that lacks a change is removed, and complete again with the next one.
func stateOnAFullDisk(t *testing.T, limit func(*testing.T, int)) {
	bus := &event.Bus{}
	sub := bus.Subscribe(false)
	r, dir := create(t, bus)
	commit(r, 0)
	limit(t, int(r.journal.size)+10)
	commit(r, 1)
	limit(t, 10)
	for n := 2; n < 4; n++ { // no new file can be made
		commit(r, n)
		if entries, err := os.ReadDir(filepath.Join(dir, stateDir)); err != nil || len(entries) > 0 {
			t.Errorf("left behind: %v, %v", entries, err)
		}
	}
	limit(t, 0)
	wantNews(t, sub, "the disk is full", "file too large")
	commit(r, 4)
	wantNews(t, sub, "it is not any more", keptAgain)
	back := reopen(t, r, dir)
	for n := 2; n < 5; n++ {
		var got int
		if ok, err := back.Get(KeyOf("number", "a/b", fmt.Sprint(n%3)), &got); !ok || err != nil || got != n {
			t.Errorf("number %d is %d, %v", n, got, err)
		}
	}
	wantHistory(t, dir, 5)
}

// A change that does not fit on the disk leaves no trace, and records that were
// stored before stay.
func tryOnAFullDisk(t *testing.T, limit func(*testing.T, int)) {
	var bus event.Bus
	dir := leaktest.TempDir(t)
	var first Change
	first.Put("first", "value")
	r, err := Create(&bus, dir, first)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Wake(); err != nil {
		t.Fatal(err)
	}
	defer limit(t, 0)
	limit(t, 4<<10)
	large := Change{}
	large.Put("large", strings.Repeat("x", 8<<10))
	if err := r.Try(large); err == nil {
		t.Error("a change was stored without room for it")
	}
	small := Change{}
	small.Put("small", "value")
	if err := r.Try(small); err != nil {
		t.Errorf("a small change: %v", err)
	}
	r.Commit(large) // it cannot be stored now
	if !HasState(dir) {
		t.Error("the state is gone")
	}
	j, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(j.keys("large")) > 0 || len(j.keys("small")) != 1 || len(j.keys("first")) != 1 {
		t.Errorf("stored: %d records", len(j.values))
	}
	limit(t, 0)
	if err := errors.Join(j.close(), r.Close()); err != nil {
		t.Error(err)
	}
}
