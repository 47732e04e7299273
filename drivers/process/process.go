// Package process starts processes, learns how they end, and leaves nothing of
// them behind: whatever a process has started is killed when it ends, however
// far it went away, as far as the system can tell (see Run).
//
// A Unix process has one set of children and one SIGCHLD. So there is one
// reaper for the whole program, in one goroutine, however many processes there
// are, and no thread waits for any of them. It looks only at processes that
// were started here, and at orphans: descendants of those whose parent died.
// Other parts of the program may use os/exec beside it; they may not give a
// child a session of its own, for that is how an orphan is told from a child
// of somebody else.
package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Status tells how a process ended.
type Status struct {
	ExitCode int   // 128+n when it was killed by signal n, -1 when unknown
	Signal   int   // 0 for none
	Err      error `json:"-"` // why it is unknown

	// PeakRSS is the most resident memory, in bytes, that the process or one
	// that it waited for had; 0 when unknown.
	PeakRSS int64
}

func exitedWith(code int) Status { return Status{ExitCode: code} }

func killedBy(sig syscall.Signal) Status {
	return Status{ExitCode: 128 + int(sig), Signal: int(sig)}
}

// unknownEnd is the status of a child that the system does not know.
func unknownEnd(err error) Status {
	return Status{ExitCode: -1, Err: fmt.Errorf("cannot learn how the process ended: %w", err)}
}

// Process is one process that was started, together with all that it starts in
// turn, its tree. When it ends the rest of its tree is killed; until that is
// done its number stays taken, so nothing here can hit a stranger. All methods
// may be called from several goroutines at once.
type Process struct {
	id     ID
	tag    string        // what its environment tells it by; see tagOf
	keeper Keeper        // whose child it is, nil when it is one of this program
	shadow int64         // see surePeak
	entry  Entry         // in the journal
	done   chan struct{} // closed when the process has ended
	gone   chan struct{} // closed when its tree has, too

	// Written before done is closed.
	status  Status
	endedAt time.Time

	// Written before gone is closed.
	err error

	// Guarded by the reaper's lock.
	run      *Run
	kept     bool // until Release, where another instance of this program may ask for it
	finished bool // nothing is left of its tree
	onExit   []func(Status, time.Time)
	reaped   bool
	members  map[ID]bool // processes that were seen in its tree

	// Of the reaper's goroutine alone.
	giveUpAt time.Time
}

// ID returns what the process can be found by again; see Run.Adopt.
func (p *Process) ID() ID { return p.id }

// Pid returns the number of the process.
func (p *Process) Pid() int { return p.id.PID }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Status tells how and when the process ended. Call it after Done is closed.
func (p *Process) Status() (Status, time.Time) { return p.status, p.endedAt }

// Gone is closed when the process and its tree have ended, or when it was
// given up to kill the rest of it, which Err tells.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Release says that it is known how the process ended, to whoever has to know
// it after the death of this program. It is for processes that are Kept.
func (p *Process) Release() {
	reaper.mu.Lock()
	bury := p.kept && p.finished && reaper.keeper != nil
	p.kept = false
	if bury {
		reaper.bury(p)
	}
	reaper.mu.Unlock()
	if bury {
		p.entry.Remove()
	}
}

// Err names processes of the tree that could not be killed, or is nil. Call it
// after Gone is closed.
func (p *Process) Err() error { return p.err }

// Signal sends a signal to the process alone. When it has ended the error is
// os.ErrProcessDone.
func (p *Process) Signal(sig syscall.Signal) error {
	if p.hasEnded() {
		return os.ErrProcessDone
	}
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	if p.reaped {
		return os.ErrProcessDone
	}
	if err := p.send(sig); errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	} else if err != nil {
		return fmt.Errorf("cannot send signal %q to process %d: %w", sig, p.id.PID, err)
	}
	return nil
}

// send sends a signal; the caller holds the reaper's lock. This program's own
// child keeps its number until it is reaped, a keeper's only while that lives.
func (p *Process) send(sig syscall.Signal) error {
	if p.keeper == nil {
		return syscall.Kill(p.id.PID, sig)
	}
	return proc{ID: p.id}.signal(sig)
}

// tree returns the process and its descendants.
func (p *Process) tree() []proc {
	tree := treeOf(p.id.PID)
	if len(tree) == 0 || tree[0].ID != p.id {
		return nil // it is another one's number by now
	}
	return tree
}

// Remember notes which processes are in the tree now. They will be found again
// when the process has ended, even if they have left its session and cleared
// their environment.
func (p *Process) Remember() { p.remember() }

func (p *Process) remember() []proc {
	if p.hasEnded() {
		return nil
	}
	tree := p.tree()
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	if p.members == nil {
		p.members = make(map[ID]bool, len(tree))
	}
	for _, member := range tree {
		p.members[member.ID] = true
	}
	return tree
}

// Kill kills the process and its tree. It does not wait for their end.
func (p *Process) Kill() error {
	tree := p.remember()
	if err := p.Signal(syscall.SIGKILL); errors.Is(err, os.ErrProcessDone) {
		return nil // the reaper kills the rest
	} else if err != nil {
		return err
	}
	for _, member := range tree {
		if member.PID != p.id.PID {
			_ = member.kill() // what cannot be killed is found when the process has ended
		}
	}
	return nil
}

// hasBeenObserved reports whether it is known how the process ended, which is
// told next. The caller holds the reaper's lock.
func (p *Process) hasBeenObserved() bool { return !p.endedAt.IsZero() }

func (p *Process) hasEnded() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}
