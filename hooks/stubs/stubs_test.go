package stubs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
	"go.uber.org/goleak"

	"taskrun/engine/leaf/variable"
	"taskrun/hooks/stubs"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTheFileIsFollowed changes a stubs file, first to an invalid version, then
// to a valid one.
func TestTheFileIsFollowed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), stub.DefaultName)
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`consul_key "k" { value = "1" }`)
	set, diagnostics := stub.Read(path)
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	set = set.Filled()
	told := make(chan string, 10)
	s := stubs.New(set, nil, func(p jobspec.Diagnostics) { told <- p.Error() })
	defer s.Close()
	changed := s.Changed()

	write(`consul_key "k" { value = `)
	select {
	case text := <-told:
		if !strings.Contains(text, path) {
			t.Errorf("told %q", text)
		}
	case <-time.After(time.Minute):
		t.Fatal("the fault was not reported")
	}
	if v, _ := s.Set().Key("k"); v != "1" {
		t.Errorf("a broken file defines %q", v)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(`consul_key "k" { value = "changed" }
consul_key "later" { value = TODO("later") }`)
	select {
	case <-changed:
	case <-time.After(time.Minute):
		t.Fatal("the change was not seen")
	}
	if v, _ := s.Set().Key("k"); v != "changed" {
		t.Errorf("got %q", v)
	}
	if v, ok := s.Set().Key("later"); ok {
		t.Errorf("what is still to be filled in is %q", v)
	}
}

// TestNothingIsFollowedWithoutNeed checks, with goleak, that no goroutine runs
// without a file, or if nothing waits for a change.
func TestNothingIsFollowedWithoutNeed(t *testing.T) {
	t.Parallel()
	s := stubs.New(stub.None(), nil, nil)
	s.Changed()
	unused := stubs.New(&stub.Set{File: "none"}, nil, nil)
	unused.Close()
	if unused.Set().File != "none" {
		t.Error("another set")
	}
}

// TestStoredVariablesAreStubs stores a variable that no file defines.
func TestStoredVariablesAreStubs(t *testing.T) {
	t.Parallel()
	variables := &variable.Store{}
	s := stubs.New(stub.None(), variables, nil)
	defer s.Close()
	before, changed := s.Set(), s.Changed()
	if _, err := variables.Put(&api.Variable{Namespace: "n", Path: "a/b", Items: api.VariableItems{"k": "v"}}, nil); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	default:
		t.Error("the change was not announced")
	}
	if items, _ := s.Set().Variable("n", "a/b"); items["k"] != "v" {
		t.Errorf("got %v", items)
	}
	if _, ok := before.Variable("n", "a/b"); ok {
		t.Error("the set from before has changed")
	}
}
