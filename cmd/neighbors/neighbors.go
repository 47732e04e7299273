// Package neighbors follows the other runs of a user, and the services that they
// offer.
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

// newRunTime is how often it is looked whether there are other runs, where that
// is not told.
const newRunTime = time.Second

// Neighbors are the other runs of a user, with the services that they offer.
// They are first asked when somebody wants to know.
type Neighbors struct {
	dir  string // of sockets
	self int    // ID of the process whose socket is this run's own
	wake func() // called when they offer others

	begin   sync.Once
	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	seen    []string                       // sockets
	offered map[string][]*service.Instance // by socket
}

// New returns the neighbors of the run of a process, whose sockets are in a
// directory; an empty one has none. Wake is called when they offer other
// services. They must be closed.
func New(dir string, self int, wake func()) *Neighbors {
	n := &Neighbors{dir: dir, self: self, wake: wake, offered: map[string][]*service.Instance{}}
	n.ctx, n.end = context.WithCancel(context.Background())
	return n
}

// Instances returns what the other runs offer now, and follows it from then on.
func (n *Neighbors) Instances() []*service.Instance {
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

// Close ends the following.
func (n *Neighbors) Close() {
	n.begin.Do(func() {}) // it will not begin any more
	n.end()
	n.running.Wait()
}

// follow looks for new runs: when the directory of their sockets changes or,
// where a user may not watch any more of them, every second.
func (n *Neighbors) follow() {
	var poll <-chan time.Time
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		defer watcher.Close()
		err = watcher.Add(n.dir)
	}
	if err != nil {
		ticker := time.NewTicker(newRunTime)
		defer ticker.Stop()
		poll, watcher = ticker.C, &fsnotify.Watcher{}
	}
	n.look() // who came between the first look and the watch
	for {
		select {
		case <-watcher.Events:
		case <-watcher.Errors: //nolint:errcheck // some changes were lost: it is looked for them
		case <-poll:
		case <-n.ctx.Done():
			return
		}
		n.look()
	}
}

// look asks the runs that were not there the last time, and follows them.
func (n *Neighbors) look() {
	entries, err := os.ReadDir(n.dir)
	if err != nil {
		return // there is none
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
	sockets, err := httpapi.Find(n.dir)
	if err != nil {
		return // whoever asks for the runs is told
	}
	var asking sync.WaitGroup
	for _, socket := range sockets {
		n.mu.Lock()
		_, known := n.offered[socket]
		n.mu.Unlock()
		if known || httpapi.PID(socket) == n.self {
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

// meet asks a run for the first time.
func (n *Neighbors) meet(s *client.Server) {
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

func (n *Neighbors) offer(socket string, list []*api.ServiceRegistration) {
	instances := make([]*service.Instance, len(list))
	for i, r := range list {
		instances[i] = &service.Instance{ServiceRegistration: *r} // of which provider, it does not say
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
