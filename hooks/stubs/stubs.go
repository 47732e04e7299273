// Package stubs holds the stubs of a run for its hooks, and reads their file
// again when it has changed. Nomad's variables among them are those of a store,
// in which the API can change them.
package stubs

import (
	"os"
	"sync"
	"time"

	"taskrun/engine/leaf/variable"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

// poll is the time between two looks at the file, while a hook waits for a change.
const poll = time.Second

// Stubs are the stubs of a run. Their methods may be called from several
// goroutines at once.
type Stubs struct {
	file   string // empty: the stubs stay the same
	report func(jobspec.Diagnostics)
	stamp  stamp // of the file as it was read last

	variables *variable.Store

	mu      sync.Mutex
	set     *stub.Set
	changed chan struct{}
	follow  sync.Once
	end     chan struct{}
	ended   sync.WaitGroup
}

// stamp tells whether a file has changed.
type stamp struct {
	size int64
	mod  time.Time
}

// New returns the stubs of a set, and puts its Nomad variables into a store; nil
// is a store of its own. Diagnostics of a later version of the set's file go to
// report. If there are errors among them, the stubs stay as they are.
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

// Set returns the stubs as they are now.
func (s *Stubs) Set() *stub.Set {
	s.mu.Lock()
	set := s.set
	s.mu.Unlock()
	return set.WithVariables(s.variables.All())
}

// Changed returns a channel that is closed when Set returns others.
func (s *Stubs) Changed() <-chan struct{} {
	if s.file != "" {
		s.follow.Do(func() { s.ended.Go(s.watch) })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Close ends the watching of the file.
func (s *Stubs) Close() {
	s.follow.Do(func() {}) // it will not begin any more
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

// look reads the file if it has changed. A file that is gone, as it is for a
// moment when an editor replaces it, has not changed yet.
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
