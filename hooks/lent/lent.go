// Package lent holds the stand-ins of a run for its hooks, and reads their file
// again when it has changed. Nomad's variables among them are those of a store,
// in which others may put some.
package lent

import (
	"os"
	"sync"
	"time"

	"taskrun/engine/leaf/variable"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

// poll is how often the file is looked at. It is looked at only when somebody
// wants to know.
const poll = time.Second

// Stock is what is lent.
type Stock struct {
	file   string // empty: what is lent stays the same
	report func(jobspec.Diagnostics)
	stamp  stamp // of the file as it was read last

	variables *variable.Store

	mu      sync.Mutex
	world   *stub.Set
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

// New returns a stock that lends world, whose Nomad variables it puts into a
// store; nil is one of its own. Diagnostics of a later version of its file go to
// report; what was lent before stays then.
func New(world *stub.Set, variables *variable.Store, report func(jobspec.Diagnostics)) *Stock {
	if variables == nil {
		variables = &variable.Store{}
	}
	s := &Stock{
		file: world.File, report: report, stamp: stampOf(world.File), variables: variables,
		world: world, changed: make(chan struct{}), end: make(chan struct{}),
	}
	variables.Lend(world.Variables())
	variables.Tell(s.announce)
	return s
}

// Lent returns the stand-ins as they are now.
func (s *Stock) Lent() *stub.Set {
	s.mu.Lock()
	world := s.world
	s.mu.Unlock()
	return world.WithVariables(s.variables.All())
}

// Changed returns a channel that is closed when the stand-ins are replaced.
func (s *Stock) Changed() <-chan struct{} {
	if s.file != "" {
		s.follow.Do(func() { s.ended.Go(s.watch) })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// Close ends the watching of the file.
func (s *Stock) Close() {
	s.follow.Do(func() {}) // it will not begin any more
	close(s.end)
	s.ended.Wait()
}

func (s *Stock) watch() {
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
func (s *Stock) look() {
	now := stampOf(s.file)
	if now == s.stamp || now == (stamp{}) {
		return
	}
	s.stamp = now
	world, diagnostics := stub.Read(s.file)
	if len(diagnostics) > 0 {
		s.report(diagnostics)
	}
	if diagnostics.HasErrors() {
		return
	}
	s.mu.Lock()
	s.world = world
	s.mu.Unlock()
	s.variables.Lend(world.Variables())
	s.announce()
}

// announce tells that what is lent has changed.
func (s *Stock) announce() {
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
