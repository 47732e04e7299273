package lifecycle

import "github.com/hashicorp/nomad/api"

// Alloc is the state machine that decides what the tasks of an allocation do.
// Its inputs are events, its effects are orders, which the caller carries out in
// its own time.
//
//	                  Stop, Overdue, or a cause to kill
//	┌────────┐ Prepared ┌──────┐ ────────────────▶ ┌───────────┐ ReadyToKill ┌─────────┐
//	│ set-up ├─────────▶│ runs │     (Prekill)     │ preparing ├────────────▶│ killing │
//	└───┬────┘          └──┬───┘                   └─────┬─────┘             └──┬──────┘
//	    │ SetupFailed      │ all but poststop            │ KillAtOnce           │ wave after
//	    ▼                  ▼ tasks are dead              ▼                      ▼ wave (Cancel)
//	 (Cancel all)       released: dead tasks stay dead, poststop tasks run
type Alloc struct {
	tasks []Member
	tally Tally
	state State

	prepared bool
	kill     *kill
	stopped  bool // ordered to stop
	blamed   bool // the tasks were told the cause
	released bool
	overdue  bool
	atOnce   bool
	ended    int // number of tasks
	effects  []Effect
}

// Member is a task of an allocation in the state machine.
type Member struct {
	Task
	Waiting   bool // at its gate
	Parked    bool // dead, but able to start again
	Cancelled bool // told to end for good
	Ended     bool // will never run again
	told      bool // told that it is killed
	awaited   bool // the current wave waits for its end
}

// kill kills tasks, wave after wave. In Nomad, an order to stop and a cause
// kill the tasks independently: if both happen, every task is told twice.
type kill struct {
	waves   [][]int // waves that have not started
	twice   bool    // there are both an order and a cause
	awaited int     // tasks of the latest wave that have not ended
	ready   bool    // Prekill was answered
}

// NewAlloc returns the state machine of an allocation whose tasks have not
// started.
func NewAlloc(tasks []Task) *Alloc {
	a := &Alloc{tally: TallyOf(tasks), tasks: make([]Member, len(tasks))}
	for i, t := range tasks {
		a.tasks[i].Task = t
	}
	return a
}

// Next processes an input and returns the resulting orders, in sequence. The
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
	case Hold:
		a.hold(in.Task, true)
	case Unhold:
		a.hold(in.Task, false)
		a.open(in.Task)
	case Changed:
		m := &a.tasks[in.Task]
		before := m.Task
		m.Phase, m.Failed = in.Phase, in.Failed
		m.Held = m.Held && m.Phase != Dead // the end of a task ends the order
		a.tally.Change(in.Task, before, m.Task)
	case Parks:
		a.tasks[in.Task].Parked = true
		if a.state == StateInit && a.kill == nil { // it ended while all tasks start again
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

func (a *Alloc) hold(i int, held bool) {
	m := &a.tasks[i]
	before := m.Task
	m.Held = held
	a.tally.Change(i, before, m.Task)
}

// settle applies the rules that depend on the state of all tasks.
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

// open starts a task if it waits, is not held, and its gate is open. During a kill, only
// poststop tasks start.
func (a *Alloc) open(i int) {
	m := &a.tasks[i]
	if m.Waiting && !m.Held && a.state.Open(m.Stage) && (a.kill == nil || m.Stage == Poststop) {
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

// release makes the end of dead tasks final: no order can start them again. An
// allocation that ends by itself gets the same preparation as one that is killed.
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

// newKill replaces the current kill, if there is one.
func (a *Alloc) newKill(waves [][]int) {
	a.kill = &kill{waves: waves}
	for i := range a.tasks {
		a.tasks[i].awaited = false
	}
}

// beginKill prepares to kill all tasks except poststop ones, or joins the
// current kill.
func (a *Alloc) beginKill() {
	switch {
	case a.kill == nil:
		a.newKill(KillWaves(a.Tasks()))
		a.effects = append(a.effects, Effect{Kind: Prekill})
	case a.stopped && a.blamed && !a.released && !a.overdue && !a.atOnce:
		a.joinKill()
	}
}

// joinKill tells the tasks of the current wave a second time. The second kill
// does not wait for a preparation.
func (a *Alloc) joinKill() {
	a.kill.twice, a.kill.ready = true, true
	for i := range a.tasks {
		if m := &a.tasks[i]; m.awaited && m.Phase != Dead {
			a.effects = append(a.effects, Effect{Kind: Tell, Task: i})
		}
	}
}

// killOverdue is beginKill after max_run_duration: nothing may continue, so
// poststop tasks are killed, too, and first.
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

// advanceKill starts the next wave when the last one has ended.
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

// MayRestart reports whether an order can still start the tasks again.
func (a *Alloc) MayRestart() bool { return a.prepared && a.kill == nil && !a.released }

// Stopped reports whether the allocation was ordered to stop.
func (a *Alloc) Stopped() bool { return a.stopped }

// Blamed reports whether tasks are being killed for a cause. Meanwhile Nomad
// ignores everything else.
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

// OverdueReason is the description of an allocation that exceeded
// max_run_duration, and the message to its tasks.
const OverdueReason = "allocation exceeded max_run_duration"

// IsOverdue reports whether the allocation is being killed because it exceeded
// max_run_duration.
func (a *Alloc) IsOverdue() bool { return a.overdue }

// State returns the allocation's state.
func (a *Alloc) State() State { return a.state }

// Tally returns the tally of the tasks.
func (a *Alloc) Tally() *Tally { return &a.tally }

// Tasks returns the current state of the tasks.
func (a *Alloc) Tasks() []Task {
	tasks := make([]Task, len(a.tasks))
	for i := range a.tasks {
		tasks[i] = a.tasks[i].Task
	}
	return tasks
}

// reviveAll starts the dead tasks again, unless all tasks are already starting.
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

// resume repeats the orders that may not have been carried out.
func (a *Alloc) resume() {
	for i := range a.tasks {
		if m := &a.tasks[i]; m.Cancelled && !m.Ended {
			a.effects = append(a.effects, Effect{Kind: Cancel, Task: i})
		}
	}
	switch {
	case a.kill == nil || a.kill.ready:
	case len(a.kill.waves) > 0:
		a.effects = append(a.effects, Effect{Kind: Prekill})
	case a.released:
		a.effects = append(a.effects, Effect{Kind: Retire})
	}
}
