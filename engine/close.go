package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"taskrun/drivers"
	"taskrun/engine/store"
)

// Stopping returns a channel that is closed once nothing new starts.
func (e *Engine) Stopping() <-chan struct{} { return e.settled.Done() }

// Stop stops every job like `nomad job stop`: kill signals, grace periods,
// poststop tasks. It does not wait; see Done. The jobs of a resident engine stay
// registered: after Recover, another one runs what was stopped here once more.
func (e *Engine) Stop() {
	storeOrder(e, orderStop)
	e.stop()
}

// Kill kills every task at once. It does not wait.
func (e *Engine) Kill() {
	storeOrder(e, orderKill)
	e.stop()
	e.kill()
}

// storeOrder stores how every run should end. The jobs of a resident engine do
// not end: the next engine runs them again.
func storeOrder(e *Engine, how string) {
	if !e.cfg.Durable || e.leaving.Err() != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.runs.all() {
		if !e.cfg.Resident {
			var c store.Change
			c.Put(store.KeyOf(orderKey), how)
			r.recorder.Commit(c)
			continue
		}
		for _, r := range append(r.children.all(), r) {
			r.lock()
			var c store.Change
			r.slots.pause(&c)
			r.recorder.Commit(c)
			r.mu.Unlock()
		}
	}
}

// Leave leaves everything running for an engine that will continue the runs; see
// Recover. It does not wait: Done is closed once this engine does nothing more, and
// tasks that were being stopped have ended. Close then does not clean up after
// tasks.
func (e *Engine) Leave() {
	e.leave()
	e.settle()
}

// Done returns a channel that is closed when every submitted job has ended.
func (e *Engine) Done() <-chan struct{} { return e.runs.done }

// Close kills all running tasks and the processes they left behind, and ends
// the subscriptions. When it returns, no process of any task is left, unless it
// returns an error or ctx has ended. It does not wait for jobs after ctx has
// ended.
func (e *Engine) Close(ctx context.Context) error {
	left := e.leaving.Err() != nil
	if !left {
		e.Kill()
	}
	e.mu.Lock()
	closed, submitted := e.closed, e.submitted
	e.closed = true
	e.mu.Unlock()
	if closed {
		return nil
	}
	var err error
	if submitted {
		select {
		case <-e.runs.done:
		case <-ctx.Done():
			err = fmt.Errorf("the engine has not ended: %w", context.Cause(ctx))
		}
	}
	e.watch.end()
	if !left && err == nil {
		err = sweep(ctx, e.cfg.Drivers, e.notice)
	}
	e.cfg.Variables.Close()
	e.bus.Close()
	return errors.Join(err, e.registry.Close())
}

// sweep lets drivers remove the processes and containers that tasks left
// behind.
func sweep(ctx context.Context, catalog map[string]drivers.Driver, notice func(string, ...any)) (err error) {
	for _, name := range slices.Sorted(maps.Keys(catalog)) {
		s, ok := catalog[name].(drivers.Shutdowner)
		if !ok {
			continue
		}
		killed, failure := s.Shutdown(ctx)
		if failure != nil {
			err = errors.Join(err, fmt.Errorf("cannot clean up after %s tasks: %w", name, failure))
		}
		switch {
		case killed == 1:
			notice("killed 1 process that %s tasks had left behind", name)
		case killed > 1:
			notice("killed %d processes that %s tasks had left behind", killed, name)
		}
	}
	return err
}
