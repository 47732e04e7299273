package lifecycle

// Input is an event. Task is the index of the task that it concerns, if any.
type Input struct {
	Kind   InputKind
	Task   int
	Phase  Phase // of Changed
	Failed bool  // of Changed
}

// InputKind is the kind of an event.
type InputKind uint8

// The inputs.
const (
	Prepared    InputKind = iota // the preparation before the first task is done
	SetupFailed                  // the preparation has failed
	Waits                        // a task waits at its gate
	Changed                      // a task has entered a phase
	Parks                        // a dead task waits for a possible new start
	Ends                         // a task will never run again
	Stop                         // an order to stop the allocation
	Overdue                      // max_run_duration has passed
	KillAtOnce                   // no time is left for a graceful end
	ReadyToKill                  // the answer to Prekill
	RestartAll                   // all tasks start again: the gates stay closed until all are pending
	ReviveAll                    // after RestartAll: the running tasks were told
	Hold                         // a task does not start, or start again, until Unhold; the others do not wait for it
	Unhold                       // the end of Hold
	Restored                     // the machine was restored, and its driver is ready
)

// Effect is an order. Task is the index of the task that it concerns, if any.
type Effect struct {
	Kind    EffectKind
	Task    int
	Cause   Cause // of Blame
	Sibling int   // of Blame: the index of the failed task
}

// EffectKind is the kind of an order.
type EffectKind uint8

// The effects.
const (
	// Prekill: prepare to kill tasks, then answer with ReadyToKill.
	Prekill EffectKind = iota
	// Retire: do the same when no tasks are left to kill. It needs no answer.
	Retire
	// Blame: tell a task why it will be killed.
	Blame
	// Tell: tell a task that it is killed.
	Tell
	// Cancel: make a task end for good.
	Cancel
	// Start: let a task through its gate once.
	Start
	// Revive: start a parked task again.
	Revive
)
