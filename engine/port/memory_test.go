package port_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskrun/engine/leaf/leaktest"
	"taskrun/engine/port"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(leaktest.TempDir(t), "ports")
	m := port.Recall(path)
	keep := func(slot string, number int) {
		t.Helper()
		if err := m.Keep(slot, number); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file without need")
	}
	keep("g[0]  http", 20001)
	keep(`odd "slot"`+"\n", 20002)
	keep("g[0]  http", 20003)
	keep("g[0]  http", 20003)
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(path); strings.Count(string(text), "\n") != 3 {
		t.Errorf("the file has %q", text)
	}

	m = port.Recall(path)
	if got := m.Of("g[0]  http"); got != 20003 {
		t.Errorf("http had %d", got)
	}
	if got := m.Of(`odd "slot"` + "\n"); got != 20002 {
		t.Errorf("the odd one had %d", got)
	}
	if m.Of("new") != 0 || m.Has(20001) || !m.Has(20002) || !m.Has(20003) {
		t.Error("it has what it should not, or lacks what it should have")
	}
	if text, _ := os.ReadFile(path); strings.Count(string(text), "\n") != 2 {
		t.Errorf("what does not count is still there: %q", text)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

func FuzzRecall(f *testing.F) {
	f.Add("20001 \"a\"\n20002 \"b\"\n")
	f.Add("x\n\n99999 \"a\"\n-1 \"b\"\n1 b\n")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(leaktest.TempDir(t), "ports")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m := port.Recall(path)
		if err := m.Keep("slot", 20001); err != nil {
			t.Fatal(err)
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
		if got := port.Recall(path).Of("slot"); got != 20001 {
			t.Errorf("%q: the slot has %d", text, got)
		}
	})
}
