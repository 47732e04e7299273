package process

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// Remains are the processes of a run whose program has died, by what is known
// of them. The program that looks for them is spared, with its session and
// ancestors, and so is every process that shows no sign of the run.
type Remains struct {
	Mark    uint64          // of the run, 0 for none; see Mark
	Allocs  map[string]bool // IDs of its allocations
	Leaders []ID            // processes that it started, which lead sessions

	sessions map[int]bool // of those leaders that lived at the first look
}

// Remain is one of the processes.
type Remain struct {
	ID
	Command string // its command line, as far as that can be shown
}

// Find returns those that live, after one look at all processes.
func (r *Remains) Find() []Remain {
	var found []Remain
	for _, p := range r.prey() {
		if !p.ended {
			found = append(found, Remain{p.ID, commandLine(p.PID)})
		}
	}
	return found
}

// emptyScans is how many scans in a row must find nothing on a machine where
// processes begin all the time: one could have passed unseen from one process
// to its child.
const emptyScans = 5

// longestPause is how long Kill waits at most between two scans.
const longestPause = 100 * time.Millisecond

// Kill kills them, and looks for more until it finds none or ctx ends. It
// returns those that it killed; the error names those that it must not kill
// or that do not die.
func (r *Remains) Kill(ctx context.Context) ([]Remain, error) {
	var killed []Remain
	done, failed := map[ID]bool{}, map[ID]error{}
	pause := time.Millisecond
	for empty := 0; empty < emptyScans; {
		before := lastBegun()
		found := 0
		for _, p := range r.prey() {
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
			break // no process began while this scan went on
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

// prey returns all processes of the run, living and just ending.
func (r *Remains) prey() []proc {
	all := outsiders(0)
	spared := lineage()
	if r.sessions == nil {
		r.sessions = make(map[int]bool, len(r.Leaders))
		for _, id := range r.Leaders {
			r.sessions[id.PID] = all[id.PID].ID == id && id.Start > 0
		}
	}
	verdicts := make(map[int]bool, len(all))
	var isPrey func(p proc, depth int) bool
	isPrey = func(p proc, depth int) bool {
		if verdict, known := verdicts[p.PID]; known {
			return verdict
		}
		if spared[p.PID] || p.session == ownSession() || p.PID == os.Getpid() {
			return false
		}
		ours := r.sessions[p.session] || hasMark(p.PID, r.Mark) || r.hasAlloc(p)
		if parent, ok := all[p.ppid]; !ours && ok && depth > 0 {
			ours = isPrey(parent, depth-1)
		}
		verdicts[p.PID] = ours
		return ours
	}
	var found []proc
	for _, p := range all {
		if isPrey(p, len(all)) {
			found = append(found, p)
		}
	}
	return found
}

func (r *Remains) hasAlloc(p proc) bool {
	if len(r.Allocs) == 0 {
		return false
	}
	env, _ := p.environ()
	for _, entry := range env {
		if id, ok := cutVar(entry, allocVar); ok && r.Allocs[id] {
			return true
		}
	}
	return false
}
