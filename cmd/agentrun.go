package cmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"taskrun/cmd/agent/logfile"
	"taskrun/cmd/agent/settings"
	"taskrun/cmd/exit"
	"taskrun/cmd/garbage"
	"taskrun/cmd/host"
	"taskrun/cmd/source"
	"taskrun/drivers/process"
	"taskrun/drivers/process/keeper"
	"taskrun/engine"
	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
)

const (
	// agentJob names the socket of an agent, as a job names that of a run.
	agentJob = "agent"
	// devGrace limits the graceful stop of an agent that keeps nothing.
	devGrace = 3 * time.Second
	// leaveSignal makes an agent in the background end without its tasks.
	leaveSignal = syscall.SIGUSR1
	// killSignal makes an agent kill its tasks and end.
	killSignal = syscall.SIGUSR2
)

// Sizes of the log of an agent in the background.
const (
	logSize  = 10 << 20
	logFiles = 3 // besides the current one
)

// resident is an agent: an engine that runs any number of jobs until it is stopped.
type resident struct {
	a       *app
	dir     *allocdir.Agent
	dataDir string
	sockets string
	pid     int // in the name of the socket
	dev     bool
	idle    time.Duration
	log     *agentLog
	watch   *keeper.Watch
	engine  *engine.Engine
	api     httpapi.Config
	port    net.Listener // may be nil
	token   string       // of the port; empty: none

	server *httpapi.Server
	socket string
	asked  atomic.Int64 // when a client asked last, in ns
	tidier *garbage.Tidier
	// closers are called at the end, the last one first.
	closers []func()
}

// newResident returns an agent that is about to run. On error nothing is left.
func newResident(a *app, opts agentOptions, set settings.Settings, dataDir string, watch *keeper.Watch) (_ *resident, err error) {
	resumed, err := watch.Resumed()
	if err != nil {
		return nil, err
	}
	var lock *os.File
	if resumed {
		lock = watch.Held(agentLock)
	}
	r := &resident{a: a, dataDir: dataDir, pid: os.Getpid(), dev: opts.dev, idle: opts.idle, watch: watch}
	if watch.Detached() {
		r.pid = os.Getppid() // the keeper's, which stays
	}
	if r.sockets, err = a.runs.Sockets(); err != nil {
		return nil, err // nobody could use the agent
	}
	if r.dir, err = allocdir.OpenAgent(dataDir, lock); err != nil {
		return nil, err
	}
	r.closers = append(r.closers, func() { _ = r.dir.Close() })
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	level := opts.level
	if set.LogLevel != "" && !opts.flags.Changed("log-level") {
		level = logLevel(set.LogLevel)
	}
	r.log = newAgentLog(a.Streams.Err, level)
	if watch.Detached() {
		file, err := logfile.Open(agentLogPath(dataDir), logSize, logFiles)
		if err != nil {
			return nil, err
		}
		r.closers = append(r.closers, func() { _ = file.Close() })
		r.log.to = file
	}
	if err := r.listen(opts, set); err != nil {
		return nil, err
	}
	return r, r.join(opts, set)
}

// listen opens the port, if there is one.
func (r *resident) listen(opts agentOptions, set settings.Settings) (err error) {
	addr := opts.address(set)
	if addr == "" {
		return nil
	}
	if host, number, err := net.SplitHostPort(addr); err == nil && number == "0" && r.watch.Detached() {
		addr = r.earlierAddress(host, addr) // clients know that one
	}
	if !opts.noToken {
		if r.token, err = token(r.dir); err != nil {
			return err
		}
	}
	port, err := httpapi.ListenTCP(addr, r.token)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return exit.Usage("%w", err).WithHint("stop the program that has the port, or choose another with --http")
	case err != nil:
		return exit.Usage("%w", err)
	}
	r.port = port
	r.closers = append(r.closers, func() { _ = port.Close() })
	return os.WriteFile(r.dir.Path(agentAddress), []byte(r.port.Addr().String()+"\n"), 0o600)
}

// earlierAddress returns the address that an earlier agent chose, if it is at the
// same host.
func (r *resident) earlierAddress(host, otherwise string) string {
	text, err := os.ReadFile(r.dir.Path(agentAddress))
	earlier := strings.TrimSpace(string(text))
	if at, _, splitErr := net.SplitHostPort(earlier); err == nil && splitErr == nil && at == host {
		return earlier
	}
	return otherwise
}

// close releases what the agent has.
func (r *resident) close() {
	for len(r.closers) > 0 {
		last := len(r.closers) - 1
		f := r.closers[last]
		r.closers = r.closers[:last]
		f()
	}
}

// run serves clients until the agent is stopped.
func (r *resident) run(ctx context.Context) error {
	defer r.close()
	server, socket, warning, begin, unserve := host.Serve(r.a.runs, r.engine, httpapi.SocketName(agentJob, r.pid), r.port, r.api)
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
func (r *resident) begin(begin func()) error {
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
func (r *resident) stands() error {
	if r.watch.Detached() {
		if err := r.holdOn(); err != nil {
			return err
		}
	} else {
		r.greet()
	}
	r.log.info("the agent has started: process %d, data in %s", os.Getpid(), r.dataDir)
	return nil
}

// greet says where clients find an agent in the foreground.
func (r *resident) greet() {
	w := newAgentWords(r.a, r.dataDir, r.socket)
	if r.port != nil {
		w.address, w.token = r.port.Addr().String(), r.token
	}
	w.write()
}

// killed is why an agent kills its tasks.
const killed = "as ordered"

// abandon ends an agent that has not begun.
func (r *resident) abandon(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), source.SweepTime)
	defer cancel()
	err := r.engine.Close(ctx)
	return errors.Join(err, r.watch.Close(err == nil))
}

// serve waits until the agent is told to end, and ends it.
func (r *resident) serve(ctx context.Context) error {
	signals, unwatch := r.a.Signals()
	defer unwatch()
	orders := make(chan os.Signal, 2)
	signal.Notify(orders, leaveSignal, killSignal)
	defer signal.Stop(orders)
	r.asked.Store(time.Now().UnixNano())
	idle := time.NewTimer(max(r.idle, time.Second))
	defer idle.Stop()
	if r.idle == 0 {
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
			if r.dev {
				kill = time.After(devGrace)
			}
		default:
			r.log.info("killing what is left: %s", why)
			r.engine.Kill()
		}
	}
	for {
		select {
		case sig := <-signals:
			stop(sig.String())
		case order := <-orders:
			switch {
			case order == killSignal:
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
				stop(fmt.Sprintf("no job and no client for %v", r.idle))
			}
		case <-kill:
			stop("its time is over")
		case <-r.engine.Done():
			return r.end(ctx, leaving)
		}
	}
}

// busyFor returns for how long the agent cannot be idle yet.
func (r *resident) busyFor(now time.Time) time.Duration {
	for _, job := range r.engine.Jobs() {
		if _, ended := r.engine.Ending(event.JobKey(*job.Namespace, *job.ID)); !ended {
			return r.idle
		}
	}
	return r.idle - now.Sub(time.Unix(0, r.asked.Load()))
}

// end closes the engine once nothing happens any more.
func (r *resident) end(ctx context.Context, leaving bool) error {
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
