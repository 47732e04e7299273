package identity

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/hooks"
)

// minWait is the minimum time before Nomad's client renews a token.
const minWait = 10 * time.Second

// renewals are those of the allocations of an engine.
type renewals struct {
	mu     sync.Mutex
	allocs map[string]*renewal // by ID, while any of its tasks has expiring tokens
}

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
func (all *renewals) join(t hooks.Task, age time.Duration) (due <-chan struct{}, leave func()) {
	all.mu.Lock()
	defer all.mu.Unlock()
	r := all.allocs[t.Alloc.ID]
	if r == nil {
		r = &renewal{due: map[chan struct{}]bool{}}
		var ctx context.Context
		ctx, r.cancel = context.WithCancel(context.Background())
		ttl := shortest(t.Group)
		wait := func(left time.Duration) time.Duration {
			return keep(left, func(n time.Duration) time.Duration { return t.Chance.Duration(n, "renewal", t.Alloc.ID) })
		}
		r.ended.Go(func() { r.run(ctx, ttl, age, wait) })
		all.allocs[t.Alloc.ID] = r
	}
	ch := make(chan struct{}, 1)
	r.mu.Lock()
	r.due[ch] = true
	r.mu.Unlock()
	return ch, func() { all.leave(t.Alloc.ID, r, ch) }
}

func (all *renewals) leave(alloc string, r *renewal, ch chan struct{}) {
	all.mu.Lock()
	r.mu.Lock()
	delete(r.due, ch)
	last := len(r.due) == 0
	r.mu.Unlock()
	if last {
		delete(all.allocs, alloc)
	}
	all.mu.Unlock()
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

// identities returns a new list of a task's identities, the default one first.
func identities(t *api.Task) []*api.WorkloadIdentity {
	if t.Identity == nil {
		return slices.Clone(t.Identities)
	}
	return append([]*api.WorkloadIdentity{t.Identity}, t.Identities...)
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
