package process

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrUnknown is the error of Adopt and Find when there is no such process, or
// none whose end this program could learn.
var ErrUnknown = errors.New("no such process of this run")

// Keeper is the process above this one that has, as children, what an earlier
// instance of this program started and was outlived by. It keeps how they end
// until it is told to reap them. Its methods return at once, and wait for
// nothing of this package.
type Keeper interface {
	// PID is the keeper's own number.
	PID() int
	// Child returns what is known of a child; ok is false for any process that
	// is none of those recorded.
	Child(ID) (child Child, ok bool)
	// Children returns all that are recorded.
	Children() []Child
	// Reap frees the number of a child that has ended.
	Reap(ID)
}

// Child is a process that a keeper has.
type Child struct {
	ID
	Tag     string // the NOMAD_ALLOC_ID and NOMAD_TASK_NAME it was started with, see tagOf
	Ended   bool
	Status  Status    // how, when it has ended
	EndedAt time.Time // and when
}

// SetKeeper tells of the keeper of this program, before anything is adopted.
// The keeper calls news whenever children of it have ended: how many that are
// none of those recorded were reaped. It waits for nothing, so that a keeper
// can be heard while it is told to Reap.
func SetKeeper(k Keeper) (news func(reaped int)) {
	reaper.mu.Lock()
	defer reaper.mu.Unlock()
	reaper.keeper = k
	return func(reaped int) {
		reaper.buried.Add(int64(reaped))
		reaper.look()
	}
}

func (r *reaping) above() Keeper {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keeper
}

// isParent reports whether a number is that of this program or its keeper:
// whose children the orphans of a run become.
func (r *reaping) isParent(pid int) bool {
	k := r.above()
	return pid == os.Getpid() || k != nil && pid == k.PID()
}

// Adoption is a process that was started by an earlier instance of this
// program, or by another run of this one.
type Adoption struct {
	ID     ID
	Env    []string                // that it was started with
	OnExit func(Status, time.Time) // as in Spec; called also when it has ended already
	Kept   bool                    // as in Spec
}

// Adopt makes a process one of the run, with all that Start promises. It must
// be a child of this program's keeper (see SetKeeper) or of this program
// itself; what another run of this program has is taken over from it. The error
// is ErrUnknown when there is no such process, or when its number belongs to
// another one now.
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
	p.entry = reaper.recall(p.id)
	err := p.lookUp()
	reaper.register(p, err)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// lookUp checks that it will be known how the process ends.
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

// takeOver gives a process to a run, nil when no run of this program has it.
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

// findTime is how long a process may take from its fork to its program.
const findTime = time.Second

// Find returns the process that has the NOMAD_ALLOC_ID and NOMAD_TASK_NAME of
// an environment, among those that an earlier instance of this program started
// and that nobody has adopted: when a start was intended, and its outcome not
// recorded. The error is ErrUnknown when there is none.
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

// search looks for a process with the tag once. When starting is true some
// process has yet to execute its program: it may turn out to be that one.
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
	for _, pid := range strays() {
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
