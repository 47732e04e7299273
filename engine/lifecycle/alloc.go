package lifecycle

import "github.com/hashicorp/nomad/api"

// Alloc is the machine that decides what the tasks of an allocation do. Its
// inputs are what happened, its effects are orders; the caller carries them
// out, in its own time.
//
//	                  Stop, Overdue, or a cause to kill
//	┌────────┐ Prepared ┌──────┐ ────────────────▶ ┌───────────┐ ReadyToKill ┌─────────┐
//	│ set-up ├─────────▶│ runs │     (Prekill)     │ preparing ├────────────▶│ killing │
//	└───┬────┘          └──┬───┘                   └─────┬─────┘             └──┬──────┘
//	    │ SetupFailed      │ all but poststop            │ KillAtOnce           │ wave after
//	    ▼                  ▼ tasks are dead              ▼                      ▼ wave (Cancel)
//	 (Cancel all)       released: what is dead stays dead, poststop tasks run
type Alloc struct {
	tasks []Member
	tally Tally
	state State

	prepared bool
	kill     *kill
	stopped  bool // by an order
	blamed   bool // the tasks were told of a cause
	released bool
	overdue  bool
	atOnce   bool
	ended    int // tasks
	effects  []Effect
}

// Member is a task of an allocation as the machine sees it.
type Member struct {
	Task
	Waiting   bool // at its gate
	Parked    bool // dead, but it could be started again
	Cancelled bool // it was told to end for good
	Ended     bool // it will never run again
	told      bool // that it is killed
	awaited   bool // its end, by the wave of a kill
}

// kill is the killing of tasks, wave after wave. In Nomad an order to stop and
// a cause each kill the tasks, side by side: when there are both, every task is
// told twice.
type kill struct {
	waves   [][]int // still to begin
	twice   bool    // there are both
	awaited int     // tasks of the wave that was begun last, which have not ended
	ready   bool    // Prekill was answered
}

// NewAlloc returns the machine of an allocation none of whose tasks has begun.
func NewAlloc(tasks []Task) *Alloc {
	a := &Alloc{tally: TallyOf(tasks), tasks: make([]Member, len(tasks))}
	for i, t := range tasks {
		a.tasks[i].Task = t
	}
	return a
}

// Next takes in what happened and returns what is to be done, in order. The
// slice is valid until the next call.
func (a *Alloc) Next(in Input) []Effect {
	a.effects = a.effects[:0]
	a.take(in)
	a.settle()
	return a.effects
}

func (a *Alloc) take(in Input) {
	switch in.Kind {
	case Prepared:
		a.prepared = true
	case SetupFailed:
		a.prepared = true
		a.newKill(nil)
		for i := range a.tasks {
			a.cancel(i)
		}
	case Waits:
		a.tasks[in.Task].Waiting = true
		a.open(in.Task)
	case Changed:
		m := &a.tasks[in.Task]
		before := m.Task
		m.Phase, m.Failed = in.Phase, in.Failed
		a.tally.Change(in.Task, before, m.Task)
	case Parks:
		a.tasks[in.Task].Parked = true
		if a.state == StateInit && a.kill == nil { // it ended while all are to start again
			a.reviveTask(in.Task)
		}
	case Ends:
		m := &a.tasks[in.Task]
		m.Ended, m.Parked = true, false
		a.ended++
		if m.awaited {
			m.awaited = false
			a.kill.awaited--
		}
	case Stop:
		if !a.stopped {
			a.stopped = true
			a.beginKill()
		}
	case Overdue:
		a.killOverdue()
	case KillAtOnce:
		a.atOnce = true
		all := make([]int, len(a.tasks))
		for i := range all {
			all[i] = i
		}
		a.newKill([][]int{all})
		a.kill.ready = true
	case ReadyToKill:
		if a.kill != nil {
			a.kill.ready = true
		}
	case RestartAll:
		if a.MayRestart() {
			a.state = StateInit
		}
	case ReviveAll:
		a.reviveAll()
	case Restored:
		a.resume()
	}
}

// settle draws the consequences that follow from the state of all tasks.
func (a *Alloc) settle() {
	if cause, sibling := KillCause(&a.tally); cause != NoCause && !a.blamed && (a.kill == nil || a.stopped && !a.overdue && !a.atOnce) {
		a.blamed = true
		for i := range a.tasks {
			if a.tasks[i].Stage != Poststop && a.tasks[i].Phase != Dead {
				a.effects = append(a.effects, Effect{Kind: Blame, Task: i, Cause: cause, Sibling: sibling})
			}
		}
		a.beginKill()
	}
	a.advanceKill()
	if a.tally.Done() && !a.released {
		a.release()
	}
	if !a.prepared {
		return
	}
	if next := Next(a.state, &a.tally); next != a.state {
		a.state = next
		for i := range a.tasks {
			a.open(i)
		}
	}
}

// open lets a task through if it waits and its gate is open. Once the tasks are
// to be killed only poststop tasks start.
func (a *Alloc) open(i int) {
	m := &a.tasks[i]
	if m.Waiting && a.state.Open(m.Stage) && (a.kill == nil || m.Stage == Poststop) {
		m.Waiting = false
		a.effects = append(a.effects, Effect{Kind: Start, Task: i})
	}
}

func (a *Alloc) cancel(i int) {
	if m := &a.tasks[i]; !m.Cancelled {
		m.Cancelled, m.Waiting = true, false
		a.effects = append(a.effects, Effect{Kind: Cancel, Task: i})
	}
}

// release lets the dead be dead: no order can start them any more. An
// allocation that ends by itself is prepared for that as if it were killed.
func (a *Alloc) release() {
	a.released = true
	if a.kill == nil {
		a.newKill(nil)
		a.effects = append(a.effects, Effect{Kind: Retire})
	}
	for i := range a.tasks {
		if a.tasks[i].Stage != Poststop {
			a.cancel(i)
		}
	}
}

// newKill replaces the kill that is under way, if there is one.
func (a *Alloc) newKill(waves [][]int) {
	a.kill = &kill{waves: waves}
	for i := range a.tasks {
		a.tasks[i].awaited = false
	}
}

// beginKill prepares to kill all tasks but poststop ones, or joins the kill that
// is under way.
func (a *Alloc) beginKill() {
	switch {
	case a.kill == nil:
		a.newKill(KillWaves(a.Tasks()))
		a.effects = append(a.effects, Effect{Kind: Prekill})
	case a.stopped && a.blamed && !a.released && !a.overdue && !a.atOnce:
		a.joinKill()
	}
}

// joinKill tells the tasks of the present wave once more. What comes before a
// kill does not hold up a second one.
func (a *Alloc) joinKill() {
	a.kill.twice, a.kill.ready = true, true
	for i := range a.tasks {
		if m := &a.tasks[i]; m.awaited && m.Phase != Dead {
			a.effects = append(a.effects, Effect{Kind: Tell, Task: i})
		}
	}
}

// killOverdue is beginKill when max_run_duration has passed: nothing may go on
// then, so poststop tasks are killed as well, and first.
func (a *Alloc) killOverdue() {
	if a.overdue {
		return
	}
	a.overdue = true
	waves := KillWaves(a.Tasks())
	if poststop := a.poststop(); len(poststop) > 0 {
		waves = append([][]int{poststop}, waves...)
	}
	a.newKill(waves)
	a.effects = append(a.effects, Effect{Kind: Prekill})
}

func (a *Alloc) poststop() (tasks []int) {
	for i := range a.tasks {
		if a.tasks[i].Stage == Poststop {
			tasks = append(tasks, i)
		}
	}
	return tasks
}

// advanceKill begins the next wave when the last one has ended.
func (a *Alloc) advanceKill() {
	k := a.kill
	for k != nil && k.ready && k.awaited == 0 && len(k.waves) > 0 {
		for _, i := range k.waves[0] {
			m := &a.tasks[i]
			if m.Phase != Dead && !m.told {
				m.told = true
				a.effects = append(a.effects, Effect{Kind: Tell, Task: i})
				if k.twice {
					a.effects = append(a.effects, Effect{Kind: Tell, Task: i})
				}
			}
			a.cancel(i)
			if !m.Ended {
				m.awaited = true
				k.awaited++
			}
		}
		k.waves = k.waves[1:]
	}
}

// MayRestart reports whether the tasks may still be started again by order.
func (a *Alloc) MayRestart() bool { return a.prepared && a.kill == nil && !a.released }

// Stopped reports whether the allocation was ordered to stop.
func (a *Alloc) Stopped() bool { return a.stopped }

// Blamed reports whether tasks are being killed for a cause. Nomad looks at
// nothing else meanwhile.
func (a *Alloc) Blamed() bool { return a.blamed && !a.tally.Done() }

// Ended reports whether every task has ended for good.
func (a *Alloc) Ended() bool {
	return a.ended == len(a.tasks)
}

// Status returns the client status and its description.
func (a *Alloc) Status() (status, description string) {
	if a.overdue {
		return api.AllocClientStatusComplete, OverdueReason
	}
	return Status(&a.tally)
}

// OverdueReason is the description of an allocation that ran for longer than
// max_run_duration, and what its tasks are told.
const OverdueReason = "allocation exceeded max_run_duration"

// IsOverdue reports whether the allocation is killed because its time is up.
func (a *Alloc) IsOverdue() bool { return a.overdue }

// State returns where the allocation is in its life.
func (a *Alloc) State() State { return a.state }

// Tally returns the tally of the tasks.
func (a *Alloc) Tally() *Tally { return &a.tally }

// Tasks returns the tasks as they are now.
func (a *Alloc) Tasks() []Task {
	tasks := make([]Task, len(a.tasks))
	for i := range a.tasks {
		tasks[i] = a.tasks[i].Task
	}
	return tasks
}

// reviveAll wakes the dead, unless all tasks are on their way already.
func (a *Alloc) reviveAll() {
	if a.state != StateInit || !a.MayRestart() {
		return
	}
	for i := range a.tasks {
		if a.tasks[i].Parked && !a.released {
			a.reviveTask(i)
		}
	}
}

func (a *Alloc) reviveTask(i int) {
	a.tasks[i].Parked = false
	a.effects = append(a.effects, Effect{Kind: Revive, Task: i})
}
