package process

import (
	"os"
	"os/signal"
	"runtime"
	"sync"
	"time"
)

// loop looks around whenever a child may have ended. Signals that arrive
// meanwhile stay queued, so no end is missed.
func (r *reaping) loop(previous <-chan struct{}, news chan os.Signal, quit <-chan struct{}, ended chan<- struct{}) {
	defer close(ended)
	defer signal.Stop(news)
	if previous != nil {
		<-previous
	}
	retry := time.NewTimer(0)
	defer retry.Stop()
	for {
		select {
		case <-news:
		case <-r.wake:
		case <-retry.C:
		case <-quit:
			r.lookAround()
			return
		}
		if r.lookAround(); r.unsettled {
			retry.Reset(time.Millisecond)
		} else if len(r.leaving) > 0 {
			retry.Reset(retryAfter)
		}
	}
}

// lookAround announces processes that have ended, kills what they left behind,
// reaps finished ones, and wakes waiters.
func (r *reaping) lookAround() {
	for again := true; again; {
		r.observe()
		r.clear()
		// An orphan that was dying may have left another one that clear did not
		// see.
		reaped := reapOrphans(r.keeperPID(), r.isOrphan)
		again = reaped > 0 && len(r.leaving) > 0
		r.buried.Add(int64(reaped))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.pulse)
	r.pulse = make(chan struct{})
}

// observe records how processes ended and announces it. It does not reap them:
// a zombie keeps its PID, and so its session ID.
func (r *reaping) observe() {
	var ended []*Process
	own := sync.OnceValue(ownMemoryPeak)
	r.mu.Lock()
	for _, p := range r.procs {
		if p.hasBeenObserved() {
			continue
		}
		if status, at, ok := p.collect(); ok {
			status.PeakRSS = p.surePeak(status.PeakRSS, own)
			p.status, p.endedAt = status, at // whole: takeOver may read it from now on
			ended = append(ended, p)
		}
	}
	r.mu.Unlock()
	for _, p := range ended {
		for _, tell := range p.onExit { // complete by now
			if tell != nil {
				tell(p.status, p.endedAt)
			}
		}
		close(p.done)
	}
	r.leaving = append(r.leaving, ended...)
}

// collect returns how and when a process ended. ok is false while it is
// running.
func (p *Process) collect() (status Status, at time.Time, ok bool) {
	if p.keeper == nil {
		status, ok = collect(p.id.PID)
		p.reaped = ok && collects
		return status, time.Now(), ok
	}
	child, known := p.keeper.Child(p.id)
	if !known {
		return unknownEnd(ErrUnknown), time.Now(), true
	}
	return child.Status, child.EndedAt, child.Ended
}

// isOrphan reports whether a child of this program is an adopted orphan.
func (r *reaping) isOrphan(pid int) bool {
	if !inOtherSession(pid) {
		return false // a child of another part of this program
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.procs[pid] != nil {
		return false
	}
	if len(r.starting) > 0 {
		r.missed = true // it may be a process that is being started
		return false
	}
	return true
}

// surePeak returns the peak memory that the system has counted for a process,
// in bytes, or 0 if that may include memory of this program. A new process
// shares this program's memory until it executes its own, and Linux counts that
// as well, so only a peak clearly above this program's own (the shadow) is
// reliable.
//
// The cheap measure of this program's own peak may include its parent's memory,
// for the same reason. ownMemoryPeak excludes it, but takes longer.
func (p *Process) surePeak(peak int64, ownMemoryPeak func() int64) int64 {
	if p.shadow == noShadow {
		return 0
	}
	if peak -= inexact; peak > p.shadow || peak > ownMemoryPeak() {
		return peak + inexact
	}
	return 0
}

// inexact is the possible error of a peak, in bytes: each CPU counts some pages
// locally before Linux adds them up.
var inexact = int64(min(runtime.NumCPU(), 16)) << 20
