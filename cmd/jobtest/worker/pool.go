package worker

import (
	"context"
	"os/exec"
	"sync"
	"time"
)

// Pool plays orders with several workers.
type Pool struct {
	Size  int
	Grace time.Duration // for workers to end before they are killed
	// New returns the command of a worker that was not started.
	New func() *exec.Cmd
	// Died is called when a worker has died, before another takes its place. It may
	// have left tasks: one that kills it at once is faster than its keeper starts.
	Died func()

	mu      sync.Mutex
	orders  []Order
	waiting []int // orders that no worker has, by number
	real    bool  // a run with real drivers is being played
	barrier int   // orders from this number on are not played
	err     error // why no worker can be started
}

// Play plays orders, and calls done with the number and the result of each, one
// call at a time. When done returns false only orders with smaller numbers are
// still played. Play returns when all workers are gone; the error is why no worker
// could be started, or that of ctx.
func (p *Pool) Play(ctx context.Context, orders []Order, done func(i int, r Result) bool) error {
	p.orders, p.barrier = orders, len(orders)
	for i := range orders {
		p.waiting = append(p.waiting, i)
	}
	var reporting sync.Mutex
	var workers sync.WaitGroup
	for range min(p.Size, len(orders)) {
		workers.Go(func() {
			var w *process
			defer func() { w.end(p.Grace) }()
			for i, ok := p.take(ctx); ok; i, ok = p.take(ctx) {
				var result Result
				if result, ok = p.play(ctx, &w, orders[i]); ok {
					reporting.Lock()
					if !done(i, result) {
						p.limit(i)
					}
					reporting.Unlock()
				}
				p.release(i)
			}
		})
	}
	workers.Wait()
	if p.err != nil {
		return p.err
	}
	return ctx.Err()
}

// take returns the next order for a worker: a real one if none is being played,
// since these wait for the clock on the wall and might want one port.
func (p *Pool) take(ctx context.Context) (i int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil || p.err != nil {
		return 0, false
	}
	choice := -1
	for at, i := range p.waiting {
		switch {
		case i >= p.barrier || p.orders[i].Real && p.real:
		case p.orders[i].Real, choice < 0:
			choice = at
		}
		if choice >= 0 && p.orders[p.waiting[choice]].Real {
			break
		}
	}
	if choice < 0 {
		return 0, false // the worker that plays a real one plays the others
	}
	i = p.waiting[choice]
	p.waiting = append(p.waiting[:choice], p.waiting[choice+1:]...)
	p.real = p.real || p.orders[i].Real
	return i, true
}

func (p *Pool) release(i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.orders[i].Real {
		p.real = false
	}
}

func (p *Pool) limit(i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.barrier = min(p.barrier, i)
}

// play plays an order in a worker, which it starts on demand. ok is false if ctx
// has ended, or no worker starts.
func (p *Pool) play(ctx context.Context, w **process, o Order) (r Result, ok bool) {
	if *w == nil {
		started, err := start(p.New())
		if err != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.err = err
			return r, false
		}
		*w = started
	}
	began := time.Now()
	r, err := (*w).play(ctx, o, p.Grace)
	if ctx.Err() != nil {
		return r, false
	}
	if err != nil {
		r = (*w).died(o, time.Since(began))
		p.Died()
	}
	if err != nil || r.Last {
		(*w).end(p.Grace)
		*w = nil
	}
	return r, true
}
