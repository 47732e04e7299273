package process

import (
	"fmt"
	"os"
	"time"
)

// Adoption is a process that was started by an earlier instance of this
// program, or by another run in it.
type Adoption struct {
	ID     ID
	Env    []string                // the environment it was started with
	OnExit func(Status, time.Time) // as in Spec; called even if it has ended already
	Kept   bool                    // as in Spec
}

// Adopt adds a process to the run, as if Start had started it. It must be a
// child of this program's keeper (see SetKeeper) or of this program itself; if
// another run of this program has it, Adopt takes it over. The error is
// ErrUnknown if there is no such process, or if another process has its PID
// now.
func (r *Run) Adopt(a Adoption) (*Process, error) {
	if p := reaper.takeOver(r, a); p != nil {
		return p, nil
	}
	p := r.newProcess(a.Env, a.OnExit)
	p.kept = a.Kept
	p.id, p.shadow = a.ID, noShadow
	if err := reaper.begin(p); err != nil {
		return nil, err
	}
	defer r.starting.Done()
	if j := reaper.journaled(); j != nil {
		p.entry = j.Recall(p.id)
	}
	err := p.lookUp()
	reaper.register(p, err)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// lookUp checks that the end of the process will be reported.
func (p *Process) lookUp() error {
	if k := reaper.above(); k != nil {
		if _, ok := k.Child(p.id); ok {
			p.keeper = k
			return nil
		}
	}
	if now, ok := stat(p.id.PID); ok && now.ID == p.id && now.ppid == os.Getpid() {
		return nil
	}
	return fmt.Errorf("cannot adopt process %d: %w", p.id.PID, ErrUnknown)
}

// takeOver moves a process to a run. It returns nil if no run of this program
// has it.
func (r *reaping) takeOver(run *Run, a Adoption) *Process {
	r.mu.Lock()
	p := r.procs[a.ID.PID]
	if p == nil || p.id != a.ID || run.ended {
		r.mu.Unlock()
		return nil
	}
	if !run.open {
		run.open = true
		r.acquire(run)
	}
	p.run = run
	if p.tag != "" {
		run.tags[p.tag] = true
	}
	told := p.hasBeenObserved()
	if !told {
		p.onExit = append(p.onExit, a.OnExit)
	}
	r.mu.Unlock()
	if told && a.OnExit != nil {
		a.OnExit(p.status, p.endedAt)
	}
	return p
}

// findTime is how long a process may take from fork to exec.
const findTime = time.Second

// Find returns the process with the NOMAD_ALLOC_ID and NOMAD_TASK_NAME of an
// environment, among those that an earlier instance of this program started and
// that are not adopted. It is for a start that was intended and whose outcome
// was not recorded. The error is ErrUnknown if there is none.
func Find(env []string) (ID, error) {
	tag := tagOf(env)
	for pause := time.Millisecond; ; pause *= 2 {
		id, starting := reaper.search(tag)
		if id.PID != 0 {
			return id, nil
		}
		if !starting || pause > findTime {
			return ID{}, fmt.Errorf("cannot find a process of %q: %w", tag, ErrUnknown)
		}
		<-time.After(pause)
	}
}

// search looks once for a process with the tag. Starting is true if some
// process has not executed its program yet, and may turn out to have the tag.
func (r *reaping) search(tag string) (found ID, starting bool) {
	if tag == "" {
		return ID{}, false
	}
	newest := func(id ID) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if p := r.procs[id.PID]; (p == nil || p.id != id) && (found.PID == 0 || id.Start > found.Start) {
			found = id
		}
	}
	if k := r.above(); k != nil {
		for _, child := range k.Children() {
			if child.Tag == tag {
				newest(child.ID)
			}
		}
	}
	if found.PID != 0 {
		return found, false
	}
	for _, pid := range strays(r.keeperPID()) {
		p, ok := stat(pid)
		if !ok || p.session != pid || !r.isParent(p.ppid) {
			continue
		}
		switch env, sure := p.environ(); {
		case tagOf(env) == tag:
			newest(p.ID)
		case !sure || hasOwnProgram(pid):
			starting = true
		}
	}
	return found, starting
}
