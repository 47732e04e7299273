// Package neighbors follows the services of other runs.
package neighbors

import (
	"context"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/service"
)

// newRunTime is the interval of looking for other runs if their directory
// cannot be watched.
const newRunTime = time.Second

// Scope says which other runs are neighbors.
type Scope string

// The scopes.
const (
	DataDir Scope = "data-dir" // the runs in the same data directory
	All     Scope = "all"      // all runs of the user
	None    Scope = "none"
)

// Scopes are all scopes, the default first.
var Scopes = []Scope{DataDir, All, None}

// Run is the run whose neighbors are wanted.
type Run struct {
	Sockets string // the directory of the user's sockets; empty: there are no other runs
	PID     int    // of its engine; 0 if it has none
	DataDir string // an absolute path
	Scope   Scope
}

// Neighbors are the other runs that share their services with a run. They are
// queried from the first call of Instances on.
type Neighbors struct {
	run  Run
	wake func() // called when their services change

	begin   sync.Once
	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	seen    []string                       // sockets
	strange map[string]bool                // sockets of runs that are no neighbors
	offered map[string][]*service.Instance // by socket
}

// New returns the neighbors of a run. It calls wake when their services change.
// The caller must close them.
func New(run Run, wake func()) *Neighbors {
	n := &Neighbors{run: run, wake: wake, strange: map[string]bool{}, offered: map[string][]*service.Instance{}}
	n.ctx, n.end = context.WithCancel(context.Background())
	return n
}

// Instances returns the service instances of the other runs, and follows them
// from then on.
func (n *Neighbors) Instances() []*service.Instance {
	if n.run.Scope == None {
		return nil
	}
	n.begin.Do(func() {
		n.look()
		n.running.Go(n.follow)
	})
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []*service.Instance
	for _, socket := range slices.Sorted(maps.Keys(n.offered)) {
		all = append(all, n.offered[socket]...)
	}
	return all
}

// Close stops following them.
func (n *Neighbors) Close() {
	n.begin.Do(func() {}) // following cannot start from now on
	n.end()
	n.running.Wait()
}

// follow looks for new runs when the directory of their sockets changes or, if
// the user has reached the limit of watched directories, every second.
func (n *Neighbors) follow() {
	var poll <-chan time.Time
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer watcher.Close()
		err = watcher.Add(n.run.Sockets)
	}
	if err != nil {
		ticker := time.NewTicker(newRunTime)
		defer ticker.Stop()
		poll, watcher = ticker.C, &fsnotify.Watcher{}
	}
	n.look() // for runs since the first call
	for {
		select {
		case <-watcher.Events:
		case <-watcher.Errors: //nolint:errcheck // some changes may be lost
		case <-poll:
		case <-n.ctx.Done():
			return
		}
		n.look()
	}
}

// look starts to follow new runs.
func (n *Neighbors) look() {
	entries, err := os.ReadDir(n.run.Sockets)
	if err != nil {
		return // there are no runs
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	n.mu.Lock()
	same := slices.Equal(names, n.seen)
	n.seen = names
	n.mu.Unlock()
	if same {
		return
	}
	sockets, err := httpapi.Find(n.run.Sockets)
	if err != nil {
		return // commands that list runs report the error
	}
	var asking sync.WaitGroup
	for _, socket := range sockets {
		n.mu.Lock()
		_, known := n.offered[socket]
		known = known || n.strange[socket]
		n.mu.Unlock()
		if known || httpapi.PID(socket) == n.run.PID {
			continue
		}
		server, err := client.Local(socket)
		if err != nil {
			continue
		}
		asking.Go(func() { n.meet(server) })
	}
	asking.Wait()
}

// meet queries a new run for its services, and follows them, if the run is a
// neighbor.
func (n *Neighbors) meet(s *client.Server) {
	if !n.near(s) {
		s.API.Close()
		return
	}
	list, index, err := s.Services(n.ctx, 0)
	if err != nil {
		s.API.Close()
		return
	}
	n.offer(s.Socket, list)
	n.running.Go(func() {
		defer s.API.Close()
		for {
			list, now, err := s.Services(n.ctx, index)
			if err != nil {
				n.gone(s.Socket)
				return
			}
			if now != index {
				index = now
				n.offer(s.Socket, list)
			}
		}
	})
}

// near reports whether a run is a neighbor. It remembers one that is not.
func (n *Neighbors) near(s *client.Server) bool {
	if n.run.Scope == All {
		return true
	}
	self, err := s.Self(n.ctx)
	switch {
	case err != nil:
		return false
	case self.In(n.run.DataDir):
		return true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.strange[s.Socket] = true
	return false
}

func (n *Neighbors) offer(socket string, list []*api.ServiceRegistration) {
	instances := make([]*service.Instance, len(list))
	for i, r := range list {
		instances[i] = &service.Instance{ServiceRegistration: *r} // without the provider
	}
	n.mu.Lock()
	n.offered[socket] = instances
	n.mu.Unlock()
	n.wake()
}

func (n *Neighbors) gone(socket string) {
	n.mu.Lock()
	delete(n.offered, socket)
	n.mu.Unlock()
	n.wake()
}
