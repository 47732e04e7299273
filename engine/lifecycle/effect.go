package lifecycle

// Input is what happened. Task is an index where it concerns one task.
type Input struct {
	Kind   InputKind
	Task   int
	Phase  Phase // of Changed
	Failed bool  // of Changed
}

// InputKind says what happened.
type InputKind uint8

// The inputs.
const (
	Prepared    InputKind = iota // what comes before the first task is done
	SetupFailed                  // or has failed
	Waits                        // a task waits at its gate
	Changed                      // a task is in a phase now
	Parks                        // a dead task waits whether it is started again
	Ends                         // a task will never run again
	Stop                         // somebody wants the allocation to end
	Overdue                      // its time is up
	KillAtOnce                   // there is no time for grace
	ReadyToKill                  // the answer to Prekill
	RestartAll                   // all tasks are to start again: no gate is open until they are pending
	ReviveAll                    // after RestartAll: those that run were told
	Restored                     // the machine is one of Restore, and what drives it is ready
)

// Effect is an order. Task is an index where it concerns one task.
type Effect struct {
	Kind    EffectKind
	Task    int
	Cause   Cause // of Blame
	Sibling int   // of Blame: the index of the failed task
}

// EffectKind says what is to be done.
type EffectKind uint8

// The effects.
const (
	// Prekill: do what comes before a group of tasks is killed, then answer
	// with ReadyToKill.
	Prekill EffectKind = iota
	// Retire: do the same when no task is left that could be killed. It needs
	// no answer.
	Retire
	// Blame: tell a task why it will be killed.
	Blame
	// Tell: tell a task that it is killed.
	Tell
	// Cancel: have a task end for good.
	Cancel
	// Start: let a task through its gate, once.
	Start
	// Revive: have a parked task start again.
	Revive
)
