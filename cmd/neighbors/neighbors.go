// Package neighbors follows the services of a user's other runs.
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

// Neighbors are the other runs of a user and their services. They are queried
// from the first call of Instances on.
type Neighbors struct {
	dir  string // of sockets
	self int    // process ID of this run's engine
	wake func() // called when their services change

	begin   sync.Once
	ctx     context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu      sync.Mutex
	seen    []string                       // sockets
	offered map[string][]*service.Instance // by socket
}

// New returns the neighbors of the run of a process, whose sockets are in dir;
// there are none if dir is empty. It calls wake when their services change. The
// caller must close them.
func New(dir string, self int, wake func()) *Neighbors {
	n := &Neighbors{dir: dir, self: self, wake: wake, offered: map[string][]*service.Instance{}}
	n.ctx, n.end = context.WithCancel(context.Background())
	return n
}

// Instances returns the service instances of the other runs, and follows them
// from then on.
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

// Close stops following them.
func (n *Neighbors) Close() {
	n.begin.Do(func() {}) // following cannot start any more
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
		err = watcher.Add(n.dir)
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
	entries, err := os.ReadDir(n.dir)
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
	sockets, err := httpapi.Find(n.dir)
	if err != nil {
		return // commands that list runs report the error
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

// meet queries a new run for its services, and follows them.
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
