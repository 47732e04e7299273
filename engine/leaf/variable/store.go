// Package variable keeps Nomad variables for a run. They are secrets, so it
// keeps them only in memory.
package variable

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"
)

// ErrConflict says that a variable has changed since the index in the order.
var ErrConflict = errors.New("cas error: the variable has changed")

// Store stores variables. The zero Store is empty and ready.
type Store struct {
	mu        sync.Mutex
	variables map[key]*api.Variable // never modified
	stubs     map[key]api.VariableItems
	last      uint64 // index
	stamp     func(v *api.VariableMetadata, deleted bool) uint64
	told      []func()
}

type key struct{ namespace, path string }

func keyOf(v *api.Variable) key { return key{v.Namespace, v.Path} }

// Stamp sets the function that gives each change its index, which must be
// greater than all earlier ones. It is called while the store is locked.
func (s *Store) Stamp(stamp func(v *api.VariableMetadata, deleted bool) uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stamp = stamp
}

// Tell sets a function that is called after each change.
func (s *Store) Tell(changed func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, changed)
}

// Get returns a variable, or nil. It is read only.
func (s *Store) Get(namespace, path string) *api.Variable {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.variables[key{namespace, path}]
}

// All returns the variables, sorted by namespace and path. They are read only.
func (s *Store) All() []*api.Variable {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.variables), func(a, b *api.Variable) int {
		return strings.Compare(a.Namespace+"\x00"+a.Path, b.Namespace+"\x00"+b.Path)
	})
}

// Put sets a variable and returns it with its index and times. If cas is set,
// the variable must have that index, or be missing for 0: otherwise the error
// is ErrConflict, and the result is the current variable, which may be nil.
func (s *Store) Put(v *api.Variable, cas *uint64) (*api.Variable, error) {
	s.mu.Lock()
	if was := s.variables[keyOf(v)]; conflict(was, cas) {
		s.mu.Unlock()
		return was, ErrConflict
	}
	now := s.put(v.Namespace, v.Path, v.Items)
	s.unlockAndTell()
	return now, nil
}

// Delete removes a variable, if it exists. For cas see Put.
func (s *Store) Delete(namespace, path string, cas *uint64) (*api.Variable, error) {
	s.mu.Lock()
	was := s.variables[key{namespace, path}]
	if conflict(was, cas) {
		s.mu.Unlock()
		return was, ErrConflict
	}
	if was == nil {
		s.mu.Unlock()
		return nil, nil
	}
	s.delete(was)
	s.unlockAndTell()
	return nil, nil
}

// Stub sets the variables of the stubs file that differ from the previous
// version of the file. Variables that were only changed here stay.
func (s *Store) Stub(variables []*api.Variable) {
	stubs := make(map[key]api.VariableItems, len(variables))
	s.mu.Lock()
	changed := false
	for _, v := range variables {
		stubs[keyOf(v)] = v.Items
		if before, known := s.stubs[keyOf(v)]; !known || !maps.Equal(before, v.Items) {
			s.put(v.Namespace, v.Path, v.Items)
			changed = true
		}
	}
	for k := range s.stubs {
		if was := s.variables[k]; stubs[k] == nil && was != nil {
			s.delete(was)
			changed = true
		}
	}
	s.stubs = stubs
	if !changed {
		s.mu.Unlock()
		return
	}
	s.unlockAndTell()
}

func conflict(was *api.Variable, cas *uint64) bool {
	switch {
	case cas == nil:
		return false
	case was == nil:
		return *cas != 0
	default:
		return *cas != was.ModifyIndex
	}
}

func (s *Store) put(namespace, path string, items api.VariableItems) *api.Variable {
	now := time.Now().UnixNano()
	v := &api.Variable{
		Namespace: namespace, Path: path, CreateTime: now, ModifyTime: now, Items: maps.Clone(items),
	}
	was := s.variables[keyOf(v)]
	if was != nil {
		v.CreateTime, v.CreateIndex = was.CreateTime, was.CreateIndex
	}
	v.ModifyIndex = s.next(v, false)
	if was == nil {
		v.CreateIndex = v.ModifyIndex
	}
	if s.variables == nil {
		s.variables = map[key]*api.Variable{}
	}
	s.variables[keyOf(v)] = v
	return v
}

func (s *Store) delete(v *api.Variable) {
	delete(s.variables, keyOf(v))
	s.next(v, true)
}

// next returns the index of a change.
func (s *Store) next(v *api.Variable, deleted bool) uint64 {
	s.last++
	if s.stamp != nil {
		s.last = s.stamp(v.Metadata(), deleted)
	}
	return s.last
}

func (s *Store) unlockAndTell() {
	told := slices.Clone(s.told)
	s.mu.Unlock()
	for _, changed := range told {
		changed()
	}
}
