// Package process starts processes, reports how they end, and leaves nothing of
// them behind: when a process ends, all its descendants are killed, wherever
// they moved, as far as the system can find them (see Run).
//
// A Unix process has one set of children and one SIGCHLD. So the whole program
// has one reaper, in one goroutine, for any number of processes, and no thread
// waits for any of them. The reaper only looks at processes that were started
// here and at orphans: their descendants whose parent has died. Other parts of
// the program may use os/exec at the same time, but must not start a child in a
// session of its own, because that distinguishes an orphan from their children.
package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Release says that the exit status of the process has been recorded, so that
// no later instance of this program will ask for it. It is for processes with
// Kept.
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

// Signal sends a signal only to the process, not its tree. If it has ended, the
// error is os.ErrProcessDone.
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

// send sends a signal. The caller must hold the reaper's lock. A child of this
// program keeps its PID until it is reaped; a child of the keeper only while
// the keeper is alive.
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
		return nil // another process may have its PID by now
	}
	return tree
}

// Remember records the processes that are in the tree now. They will be found
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
			_ = member.kill() // those that survive are found when the process has ended
		}
	}
	return nil
}
