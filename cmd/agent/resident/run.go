// Package resident is the agent: an engine that takes any number of jobs until it
// is stopped, its data directory, and its addresses.
package resident

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"sync"
	"time"

	"taskrun/cmd/garbage"
	"taskrun/cmd/host"
	"taskrun/cmd/source"
	"taskrun/drivers/process"
	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/event"
)

const (
	// agentJob names the socket of an agent, as a job names that of a run.
	agentJob = "agent"
	// devGrace limits the graceful stop of an agent that keeps nothing.
	devGrace = 3 * time.Second
)

// Run serves clients until the agent is stopped.
func (r *Agent) Run(ctx context.Context) error {
	defer r.close()
	server, socket, warning, begin, unserve := host.Serve(r.runs, r.engine, httpapi.SocketName(agentJob, r.pid), r.port, r.api)
	r.server, r.socket = server, socket
	defer unserve()
	if warning != "" {
		return errors.Join(errors.New(warning), r.abandon(ctx))
	}
	r.watch.Begin(r.sockets, func(text string) { r.log.warn("%s", text) })
	r.watch.Socket(socket)
	garbage.CollectAsUsual() // the first jobs may come at once
	r.tidier = garbage.NewTidier()
	defer r.tidier.Stop()
	following, unfollow := context.WithCancel(context.WithoutCancel(ctx))
	var logging sync.WaitGroup
	logging.Go(func() { r.log.follow(following, r.engine, r.tidier.Busy) })
	defer logging.Wait()
	defer unfollow()
	if err := r.begin(begin); err != nil {
		return errors.Join(err, r.abandon(ctx))
	}
	return r.serve(ctx)
}

// begin starts the engine, with the jobs of an earlier agent, and lets clients in.
func (r *Agent) begin(begin func()) error {
	if err := r.engine.Recover(); err != nil {
		return err
	}
	late := time.AfterFunc(host.PlaceTime, begin)
	go func() {
		r.engine.Placed()
		late.Stop()
		begin()
		r.engine.Found()
		if n := process.Settle(); n > 0 {
			r.log.info("killed processes that no longer belonged to a task: %d", n)
		}
	}()
	return r.stands()
}

// stands says that the agent has started.
func (r *Agent) stands() error {
	if r.watch.Detached() {
		if err := r.holdOn(); err != nil {
			return err
		}
	} else {
		r.greet()
	}
	r.log.info("the agent has started: process %d, data in %s", os.Getpid(), r.opts.DataDir)
	return nil
}

// greet says where clients find an agent in the foreground.
func (r *Agent) greet() {
	w := NewWords(r.console, r.opts.DataDir, r.socket)
	if r.port != nil {
		w.Address, w.Token = r.port.Addr().String(), r.token
	}
	w.Write()
}

// killed is why an agent kills its tasks.
const killed = "as ordered"

// abandon ends an agent that has not begun.
func (r *Agent) abandon(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), source.SweepTime)
	defer cancel()
	err := r.engine.Close(ctx)
	return errors.Join(err, r.watch.Close(err == nil))
}

// serve waits until the agent is told to end, and ends it.
func (r *Agent) serve(ctx context.Context) error {
	signals, unwatch := r.console.Signals()
	defer unwatch()
	orders := make(chan os.Signal, 2)
	signal.Notify(orders, LeaveSignal, KillSignal)
	defer signal.Stop(orders)
	r.asked.Store(time.Now().UnixNano())
	idle := time.NewTimer(max(r.opts.Idle, time.Second))
	defer idle.Stop()
	if r.opts.Idle == 0 {
		idle.Stop()
	}
	var kill <-chan time.Time
	stopping, leaving := false, false
	stop := func(why string) {
		switch {
		case !stopping:
			stopping = true
			r.log.info("stopping: %s", why)
			r.engine.Stop()
			if r.opts.Dev {
				kill = time.After(devGrace)
			}
		default:
			r.log.info("killing the tasks: %s", why)
			r.engine.Kill()
		}
	}
	for {
		select {
		case sig := <-signals:
			stop(sig.String())
		case order := <-orders:
			switch {
			case order == KillSignal:
				if !stopping {
					stop(killed)
				}
				stop(killed)
			case stopping || leaving:
			case !r.watch.Detached():
				r.log.warn("the tasks of an agent in the foreground cannot run without it: start it with --detach")
			default:
				leaving = true
				r.log.info("leaving: the tasks continue")
				r.engine.Leave()
			}
		case <-idle.C:
			if after := r.busyFor(time.Now()); after > 0 {
				idle.Reset(after)
			} else {
				stop(fmt.Sprintf("no job and no client for %v", r.opts.Idle))
			}
		case <-kill:
			stop("its time is over")
		case <-r.engine.Done():
			return r.end(ctx, leaving)
		}
	}
}

// busyFor returns for how long the agent cannot be idle yet.
func (r *Agent) busyFor(now time.Time) time.Duration {
	for _, job := range r.engine.Jobs() {
		if _, ended := r.engine.Handle(event.JobKey(*job.Namespace, *job.ID)).Ending(); !ended {
			return r.opts.Idle
		}
	}
	return r.opts.Idle - now.Sub(time.Unix(0, r.asked.Load()))
}

// end closes the engine after everything has stopped.
func (r *Agent) end(ctx context.Context, leaving bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), source.SweepTime)
	defer cancel()
	if leaving {
		return errors.Join(r.engine.Close(ctx), r.await())
	}
	err := r.engine.Close(ctx)
	if err == nil {
		r.log.info("the agent has ended")
	}
	return errors.Join(err, r.watch.Close(err == nil))
}

// holdOn gives the keeper of an agent what the next one needs, and says that the
// agent has started.
func (r *Agent) holdOn() error {
	path, err := os.Executable()
	if err == nil {
		err = r.watch.Continue(path)
	}
	if err == nil {
		err = r.watch.Hold(agentLock, r.dir.Lock())
	}
	if err == nil {
		err = os.Remove(r.dir.Path(agentWaits))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return r.watch.Stands("", nil)
}

// await lets the keeper of the agent wait for the next one.
func (r *Agent) await() error {
	calls, err := os.OpenFile(r.dir.Path(CallFile), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer calls.Close()
	id, err := r.watch.Await(calls)
	if err != nil {
		return err
	}
	text, err := json.Marshal(id)
	if err == nil {
		err = os.WriteFile(r.dir.Path(agentWaits), text, 0o600)
	}
	return errors.Join(err, r.dir.Leave(id.PID))
}
