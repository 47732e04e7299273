package identity

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/hooks"
)

// minWait is the minimum time before Nomad's client renews a token.
const minWait = 10 * time.Second

// renewal tells the tasks of an allocation when to renew their tokens. As in
// Nomad, all tasks renew at the same time, after half of the shortest lifetime.
type renewal struct {
	mu     sync.Mutex
	due    map[chan struct{}]bool
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

// join returns a channel that receives a value whenever the tokens of a task's
// allocation are due. The first tokens have the given age. The caller must call
// leave.
func (h *Hooks) join(t hooks.Task, age time.Duration) (due <-chan struct{}, leave func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.allocs[t.Alloc.ID]
	if r == nil {
		r = &renewal{due: map[chan struct{}]bool{}}
		var ctx context.Context
		ctx, r.cancel = context.WithCancel(context.Background())
		ttl := shortest(t.Group)
		wait := func(left time.Duration) time.Duration {
			return keep(left, func(n time.Duration) time.Duration { return t.Chance.Duration(n, "renewal", t.Alloc.ID) })
		}
		r.ended.Go(func() { r.run(ctx, ttl, age, wait) })
		h.allocs[t.Alloc.ID] = r
	}
	ch := make(chan struct{}, 1)
	r.mu.Lock()
	r.due[ch] = true
	r.mu.Unlock()
	return ch, func() { h.leave(t.Alloc.ID, r, ch) }
}

func (h *Hooks) leave(alloc string, r *renewal, ch chan struct{}) {
	h.mu.Lock()
	r.mu.Lock()
	delete(r.due, ch)
	last := len(r.due) == 0
	r.mu.Unlock()
	if last {
		delete(h.allocs, alloc)
	}
	h.mu.Unlock()
	if last {
		r.cancel()
		r.ended.Wait()
	}
}

func (r *renewal) run(ctx context.Context, ttl, age time.Duration, wait func(left time.Duration) time.Duration) {
	timer := time.NewTimer(wait(ttl - age))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			r.tell()
			timer.Reset(wait(ttl))
		}
	}
}

// tell wakes all tasks. A task that is still busy with the last renewal sees
// this one afterwards.
func (r *renewal) tell() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ch := range r.due {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

// keep returns how long a token with so much time left is kept: half of it, but
// no less than minWait, and up to a tenth more.
func keep(left time.Duration, below func(n time.Duration) time.Duration) time.Duration {
	half := max(left/2, minWait)
	return half + below(half/10)
}

// shortest returns the shortest lifetime of a group's expiring identities,
// whether tasks can see them or not.
func shortest(g *api.TaskGroup) (ttl time.Duration) {
	add := func(id *api.WorkloadIdentity) {
		if id != nil && id.TTL > 0 && (ttl == 0 || id.TTL < ttl) {
			ttl = id.TTL
		}
	}
	services := g.Services
	for _, t := range g.Tasks {
		for _, id := range identities(t) {
			add(id)
		}
		services = append(services[:len(services):len(services)], t.Services...)
	}
	for _, s := range services {
		add(s.Identity)
	}
	return ttl
}
