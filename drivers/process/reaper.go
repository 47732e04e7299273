package process

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// begin prepares a start. Until register, no unknown child is taken for an
// orphan. Holding a lock during the fork instead would let a single exec that
// hangs on a dead file system block everything.
func (r *reaping) begin(p *Process) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.run.ended {
		return errShutdown
	}
	if !p.run.open {
		p.run.open = true
		r.acquire(p.run)
	}
	p.run.starting.Add(1)
	r.starting[p] = true
	return nil
}

// register completes begin, with the error of the start.
func (r *reaping) register(p *Process, err error) {
	r.mu.Lock()
	delete(r.starting, p)
	if err == nil {
		r.procs[p.id.PID] = p
		if p.tag != "" {
			p.run.tags[p.tag] = true
		}
	}
	again := r.missed && len(r.starting) == 0
	if again {
		r.missed = false
	}
	r.mu.Unlock()
	if !again && err == nil {
		again = p.keeper != nil || maybeExited(p.id.PID) // its SIGCHLD may have arrived before it was known
	}
	if again || p.run.helpers { // Shutdown waits for helpers
		r.look()
	}
}

// acquire counts a new run. For the first one it starts the goroutine, makes
// this program adopt orphans and gives it its mark. The caller must hold mu.
func (r *reaping) acquire(run *Run) {
	if run.helpers {
		r.helpers++
	}
	if r.runs++; r.runs > 1 {
		return
	}
	AdoptOrphans()
	Mark()
	previous := r.ended
	r.quit, r.ended = make(chan struct{}), make(chan struct{})
	news := make(chan os.Signal, 1)
	signal.Notify(news, syscall.SIGCHLD)
	go r.loop(previous, news, r.quit, r.ended)
}

// end closes a run for starts. It reports whether it was open.
func (r *reaping) end(run *Run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	open := run.open && !run.ended
	run.ended = true
	return open
}

// release undoes acquire. After the last run the goroutine ends.
func (r *reaping) release(run *Run) {
	r.mu.Lock()
	r.runs--
	if run.helpers {
		r.helpers--
	}
	quit, ended := r.quit, r.ended
	last := r.runs == 0
	r.mu.Unlock()
	if last {
		close(quit)
		<-ended
	}
}

// errShutdown is the error of a start after Shutdown.
var errShutdown = errors.New("cannot start a process: the run has ended")
