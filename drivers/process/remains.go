package process

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"time"
)

// Remains identifies the processes of a run whose program has died. The program
// that searches for them is spared, with its session and ancestors, and so are
// processes without evidence of the run.
type Remains struct {
	Mark    uint64          // of the run, or 0; see Mark
	Allocs  map[string]bool // IDs of its allocations
	Leaders []ID            // processes that it started, which lead sessions

	sessions map[int]ID // leaders that were alive at the first look, by session
}

// Remain is one process of a dead run.
type Remain struct {
	ID
	Command string // its command line, made safe for a terminal
}

// Find returns the running ones, after one look at all processes.
func (r *Remains) Find() []Remain {
	var found []Remain
	for _, p := range r.processes() {
		if !p.ended {
			found = append(found, Remain{p.ID, commandLine(p.PID)})
		}
	}
	return found
}

// emptyScans is how many scans in a row must find nothing on a machine where
// processes start all the time: a scan may miss a process and its new child.
const emptyScans = 5

// longestPause limits the pause between two scans of Kill.
const longestPause = 100 * time.Millisecond

// Kill kills the processes, and searches until it finds no more or ctx ends. It
// returns those that it killed. The error names those that it may not kill or
// that do not die.
func (r *Remains) Kill(ctx context.Context) ([]Remain, error) {
	var killed []Remain
	done, failed := map[ID]bool{}, map[ID]error{}
	pause := time.Millisecond
	for empty := 0; empty < emptyScans; {
		before := lastBegun()
		found := 0
		for _, p := range r.processes() {
			if p.ended {
				continue // its parent reaps it
			}
			if done[p.ID] {
				found++ // it is dying
				continue
			}
			command := commandLine(p.PID)
			switch err := p.kill(); {
			case err == nil:
				found++
				done[p.ID] = true
				killed = append(killed, Remain{p.ID, command})
			case !errors.Is(err, syscall.ESRCH):
				failed[p.ID] = err
			}
		}
		if found > 0 {
			empty = 0
		} else if empty++; before != "" && before == lastBegun() {
			break // no process started during this scan
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, longestPause)
		case <-ctx.Done():
			return killed, errors.Join(context.Cause(ctx), joinErrors(failed))
		}
	}
	return killed, joinErrors(failed)
}

// processes returns all processes of the run, including those about to end.
func (r *Remains) processes() []proc {
	all := outsiders(0)
	spared := lineage()
	r.lookAtSessions(all)
	verdicts := make(map[int]bool, len(all))
	var belongs func(p proc, depth int) bool
	belongs = func(p proc, depth int) bool {
		if verdict, known := verdicts[p.PID]; known {
			return verdict
		}
		if spared[p.PID] || p.session == ownSession() || p.PID == os.Getpid() {
			return false
		}
		_, ours := r.sessions[p.session]
		ours = ours || hasMark(p.PID, r.Mark) || r.hasAlloc(p)
		if parent, ok := p.parentIn(all); !ours && ok && depth > 0 {
			ours = belongs(parent, depth-1)
		}
		verdicts[p.PID] = ours
		return ours
	}
	var found []proc
	for _, p := range all {
		if belongs(p, len(all)) {
			found = append(found, p)
		}
	}
	return found
}

// lookAtSessions finds the sessions of the run in its first look. Later, it forgets
// a session whose number is the PID of another process: the system reuses the
// number only after the last process has left the session.
func (r *Remains) lookAtSessions(all map[int]proc) {
	if r.sessions == nil {
		r.sessions = make(map[int]ID, len(r.Leaders))
		for _, id := range r.Leaders {
			if all[id.PID].ID == id && id.Start > 0 {
				r.sessions[id.PID] = id
			}
		}
	}
	for session, leader := range r.sessions {
		if p, ok := all[session]; ok && p.ID != leader {
			delete(r.sessions, session)
		}
	}
}

func (r *Remains) hasAlloc(p proc) bool {
	if len(r.Allocs) == 0 {
		return false
	}
	env, _ := p.environ()
	for _, entry := range env {
		if id, ok := strings.CutPrefix(entry, allocVar+"="); ok && r.Allocs[id] {
			return true
		}
	}
	return false
}
