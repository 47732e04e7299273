// Package stubs holds the stubs of a run for its hooks, and reads their file
// again when it has changed. Their Nomad variables are kept in a store, where
// the API can change them.
package stubs

import (
	"os"
	"sync"
	"time"

	"taskrun/engine/leaf/variable"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

// poll is the interval between checks of the file, while a hook waits for a
// change.
const poll = time.Second

// Stubs are the stubs of a run. Their methods are safe for concurrent use.
type Stubs struct {
	file   string // empty: the stubs never change
	report func(jobspec.Diagnostics)
	stamp  stamp // of the file when it was last read

	variables *variable.Store

	mu      sync.Mutex
	set     *stub.Set
	changed chan struct{}
	follow  sync.Once
	end     chan struct{}
	ended   sync.WaitGroup
}

// stamp identifies a version of a file.
type stamp struct {
	size int64
	mod  time.Time
}

// New returns the stubs of a set, and puts its Nomad variables into a store, or
// into a new one if variables is nil. Diagnostics of later versions of the file
// go to report. A version with errors does not replace the stubs.
func New(set *stub.Set, variables *variable.Store, report func(jobspec.Diagnostics)) *Stubs {
	if variables == nil {
		variables = &variable.Store{}
	}
	s := &Stubs{
		file: set.File, report: report, stamp: stampOf(set.File), variables: variables,
		set: set, changed: make(chan struct{}), end: make(chan struct{}),
	}
	variables.Stub(set.Variables())
	variables.Tell(s.announce)
	return s
}

// Set returns the current stubs.
func (s *Stubs) Set() *stub.Set {
	s.mu.Lock()
	set := s.set
	s.mu.Unlock()
	return set.WithVariables(s.variables.All())
}

// Changed returns a channel that is closed when Set returns a new value.
func (s *Stubs) Changed() <-chan struct{} {
	if s.file != "" {
		s.follow.Do(func() { s.ended.Go(s.watch) })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Close stops watching the file.
func (s *Stubs) Close() {
	s.follow.Do(func() {}) // following cannot start any more
	close(s.end)
	s.ended.Wait()
}

func (s *Stubs) watch() {
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.look()
		case <-s.end:
			return
		}
	}
}

// look reads the file if it has changed. A missing file, as for a moment when
// an editor replaces it, has not changed yet.
func (s *Stubs) look() {
	now := stampOf(s.file)
	if now == s.stamp || now == (stamp{}) {
		return
	}
	s.stamp = now
	set, diagnostics := stub.Read(s.file)
	if len(diagnostics) > 0 {
		s.report(diagnostics)
	}
	if diagnostics.HasErrors() {
		return
	}
	s.mu.Lock()
	if s.set.IsFilled() {
		set = set.Filled()
	}
	s.set = set
	s.mu.Unlock()
	s.variables.Stub(set.Variables())
	s.announce()
}

// announce closes the channel of Changed.
func (s *Stubs) announce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

func stampOf(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.Size(), info.ModTime()}
}
