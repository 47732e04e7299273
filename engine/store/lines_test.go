package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskrun/engine/leaf/leaktest"
)

// Lines that did not fit are written when there is room.
func TestLinesOutliveAFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("there is no full disk here: %v", err)
	}
	defer full.Close()
	path := filepath.Join(leaktest.TempDir(t), "lines")
	l, err := openLines(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.file.Close()
	disk := l.file
	write := func(text string, fails bool) {
		t.Helper()
		if _, err := l.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := l.flush(); (err != nil) != fails {
			t.Errorf("%q: %v", text, err)
		}
	}
	write("one\n", false)
	l.file = full
	write("two\n", true)
	write("three\n", true)
	l.file = disk
	write("four\n", false)
	if text, err := os.ReadFile(path); err != nil || string(text) != "one\ntwo\nthree\nfour\n" {
		t.Errorf("%q, %v", text, err)
	}
	l.file = full
	line := strings.Repeat("x", 99) + "\n"
	for range maxUnwritten/len(line) + 10 {
		write(line, true)
	}
	if got := len(l.unwritten); got > maxUnwritten || got < maxUnwritten-2*len(line) || got%len(line) != 0 {
		t.Errorf("%d bytes are kept", got)
	}
}

func TestLastLines(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, want string
		length     int
	}{
		{"a\nb\n", "a\nb\n", 4}, {"a\nb\n", "b\n", 3}, {"a\nb\n", "b\n", 2}, {"a\nb\n", "", 1}, {"abc\n", "", 2}, {"abc", "", 2}, {"", "", 0},
	} {
		if got := lastLines(tt.text, tt.length); got != tt.want {
			t.Errorf("of %q, %d bytes: %q, want %q", tt.text, tt.length, got, tt.want)
		}
	}
}
