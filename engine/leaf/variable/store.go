// Package variable keeps Nomad variables and their locks in memory. They are
// secrets: only Keep, if it is used, stores them.
package variable

import (
	"cmp"
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
	held      map[key]*held // locks whose ends are awaited
	closed    bool          // the ends of locks are no longer awaited
	last      uint64        // index
	keep      func(v *api.Variable, deleted bool) error
	told      []func()
	changed   bool // since the functions of told were called
}

// Keep sets the function that stores each change. It sets the ModifyIndex of the
// variable, which must be greater than all earlier ones, and the CreateIndex if
// that is 0. If it fails, nothing has changed. It is called while the store is
// locked.
func (s *Store) Keep(keep func(v *api.Variable, deleted bool) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep = keep
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
// is ErrConflict, and the result is the current variable, which may be nil. A
// locked variable needs the ID of its lock, and keeps it: otherwise the error is
// ErrLocked.
func (s *Store) Put(v *api.Variable, cas *uint64) (*api.Variable, error) {
	s.mu.Lock()
	defer s.unlockAndTell()
	was := s.variables[keyOf(v)]
	switch {
	case conflict(was, cas):
		return was, ErrConflict
	case lockedFor(was, v):
		return nil, ErrLocked
	case v.LockID() != "" && (was == nil || was.Lock == nil):
		return nil, ErrNotLocked // the client has lost it
	}
	return s.put(v.Namespace, v.Path, v.Items, lockOf(was))
}

// Delete removes a variable, if it exists. A locked variable cannot be deleted.
// For cas and the errors see Put.
func (s *Store) Delete(namespace, path string, cas *uint64) (*api.Variable, error) {
	s.mu.Lock()
	defer s.unlockAndTell()
	was := s.variables[key{namespace, path}]
	switch {
	case conflict(was, cas):
		return was, ErrConflict
	case lockOf(was) != nil:
		return nil, ErrLocked
	case was == nil:
		return nil, nil
	}
	return nil, s.delete(was)
}

// Stub sets the variables of the stubs file that differ from the previous
// version of the file. Variables that were only changed here stay.
func (s *Store) Stub(variables []*api.Variable) {
	stubs := make(map[key]api.VariableItems, len(variables))
	s.mu.Lock()
	defer s.unlockAndTell()
	for _, v := range variables {
		stubs[keyOf(v)] = v.Items
		if before, known := s.stubs[keyOf(v)]; !known || !maps.Equal(before, v.Items) {
			if _, err := s.put(v.Namespace, v.Path, v.Items, lockOf(s.variables[keyOf(v)])); err != nil {
				stubs[keyOf(v)] = before // try again with the next version
			}
		}
	}
	for k := range s.stubs {
		if was := s.variables[k]; stubs[k] == nil && was != nil {
			_ = s.delete(was)
		}
	}
	s.stubs = stubs
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

func (s *Store) put(namespace, path string, items api.VariableItems, lock *api.VariableLock) (*api.Variable, error) {
	now := time.Now().UnixNano()
	v := &api.Variable{
		Namespace: namespace, Path: path, CreateTime: now, ModifyTime: now, Items: maps.Clone(items), Lock: lock,
	}
	if was := s.variables[keyOf(v)]; was != nil {
		v.CreateTime, v.CreateIndex = was.CreateTime, was.CreateIndex
	}
	if err := s.store(v, false); err != nil {
		return nil, err
	}
	s.set(v)
	return v, nil
}

func (s *Store) set(v *api.Variable) {
	if s.variables == nil {
		s.variables = map[key]*api.Variable{}
	}
	s.variables[keyOf(v)] = v
}

func (s *Store) delete(v *api.Variable) error {
	gone := *v
	if err := s.store(&gone, true); err != nil {
		return err
	}
	delete(s.variables, keyOf(v))
	s.forget(keyOf(v))
	return nil
}

// store stores a change, and sets the index of the variable.
func (s *Store) store(v *api.Variable, deleted bool) error {
	if s.keep != nil {
		if err := s.keep(v, deleted); err != nil {
			return err
		}
	} else {
		s.last++
		v.ModifyIndex, v.CreateIndex = s.last, cmp.Or(v.CreateIndex, s.last)
	}
	s.changed = true
	return nil
}

// unlockAndTell calls the functions of Tell if something has changed.
func (s *Store) unlockAndTell() {
	var told []func()
	if s.changed {
		told = slices.Clone(s.told)
	}
	s.changed = false
	s.mu.Unlock()
	for _, changed := range told {
		changed()
	}
}
