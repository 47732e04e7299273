// Package process starts processes, learns how they end, and leaves nothing of
// them behind: whatever a process has started is killed when it ends, however
// far it went away, as far as the system can tell (see Run).
//
// A Unix process has one set of children and one SIGCHLD. So there is one
// reaper for the whole program, in one goroutine, however many processes there
// are, and no thread waits for any of them. It looks only at processes that
// were started here, and at orphans: descendants of those whose parent died.
// Other parts of the program may use os/exec beside it; they may not give a
// child a session of its own, for that distinguishes an orphan from a child
// of another part of the program.
package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Release says that the exit status of the process has been recorded, so that a
// later instance of this program need not ask for it. It is for processes that
// are Kept.
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
