package variable_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/variable"
)

func of(path, value string) *api.Variable {
	return &api.Variable{Namespace: "default", Path: path, Items: api.VariableItems{"v": value}}
}

// TestChangedFileSetsVariables checks that a stored variable remains until the
// file has a new value for it.
func TestChangedFileSetsVariables(t *testing.T) {
	t.Parallel()
	var s variable.Store
	told := 0
	s.Tell(func() { told++ })
	put := func(v *api.Variable) {
		t.Helper()
		if _, err := s.Put(v, nil); err != nil {
			t.Fatal(err)
		}
	}
	check := func(when, path, want string) {
		t.Helper()
		got := ""
		if v := s.Get("default", path); v != nil {
			got = v.Items["v"]
		}
		if got != want {
			t.Errorf("%s: %s is %q, want %q", when, path, got, want)
		}
	}
	s.Stub([]*api.Variable{of("kept", "1"), of("changed", "1"), of("removed", "1")})
	put(of("kept", "2"))
	put(of("own", "1"))
	if told != 3 {
		t.Errorf("told %d times", told)
	}
	s.Stub([]*api.Variable{of("kept", "1"), of("changed", "2")})
	check("a file that says the same", "kept", "2")
	check("a file that says more", "changed", "2")
	check("a file that says it no more", "removed", "")
	check("a file that never said it", "own", "1")
	if told != 4 {
		t.Errorf("told %d times", told)
	}
	s.Stub([]*api.Variable{of("kept", "1"), of("changed", "2")})
	if told != 4 {
		t.Error("told of nothing")
	}
}

// TestOneOfSeveralWins lets several clients change a variable that they have
// read.
func TestOneOfSeveralWins(t *testing.T) {
	t.Parallel()
	var s variable.Store
	first, err := s.Put(of("a", "0"), new(uint64(0)))
	if err != nil {
		t.Fatal(err)
	}
	var won sync.Map
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			now, err := s.Put(of("a", "1"), &first.ModifyIndex)
			switch {
			case err == nil:
				won.Store(i, now.ModifyIndex)
			case !errors.Is(err, variable.ErrConflict) || now.ModifyIndex == first.ModifyIndex:
				t.Errorf("%v: %+v", err, now)
			}
		})
	}
	all.Wait()
	n := 0
	won.Range(func(_, index any) bool { n++; return index.(uint64) > first.ModifyIndex })
	if n != 1 {
		t.Errorf("%d have won", n)
	}
	if _, err := s.Delete("default", "a", &first.ModifyIndex); !errors.Is(err, variable.ErrConflict) {
		t.Errorf("the first one was removed: %v", err)
	}
	if first.Items["v"] != "0" {
		t.Error("what was handed out has changed")
	}
}
