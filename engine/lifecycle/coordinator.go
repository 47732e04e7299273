package lifecycle

// State is where an allocation is in its life. It says which stages may start
// tasks: a closed gate keeps tasks from starting or starting again, it never
// ends one that runs.
//
//	           all tasks                                 all tasks but
//	           pending                                   poststop dead
//	┌──────┐        ┌──────────┐                        (from any state)
//	│ init ├───────▶│ prestart │                               │
//	└──────┘        └────┬─────┘                               │
//	   ▲                 │ ephemerals done well,               ▼
//	Restart              │ sidecars running             ┌──────────┐
//	(whole               ▼                              │ poststop │
//	allocation)     ┌──────────┐                        └──────────┘
//	                │   main   │                               ▲
//	                └────┬─────┘                               │
//	                     │ no main task pending                │
//	                     ▼                                     │
//	                ┌───────────┐  ephemerals    ┌────────────┐│
//	                │ poststart ├───────────────▶│ wait_alloc ├┘
//	                └───────────┘  dead          └────────────┘
type State uint8

// The states, in order.
const (
	StateInit State = iota
	StatePrestart
	StateMain
	StatePoststart
	StateWaitAlloc
	StatePoststop
	states // their number
)

var stateNames = [states]string{"init", "prestart", "main", "poststart", "wait_alloc", "poststop"}

// String returns Nomad's name of the state.
func (s State) String() string { return stateNames[s] }

// gates tells which stages may start tasks in which state.
var gates = [states][stages]bool{
	StatePrestart:  {PrestartEphemeral: true, PrestartSidecar: true},
	StateMain:      {PrestartSidecar: true, Main: true},
	StatePoststart: {PrestartSidecar: true, Main: true, PoststartEphemeral: true, PoststartSidecar: true},
	StateWaitAlloc: {PrestartSidecar: true, Main: true, PoststartSidecar: true},
	StatePoststop:  {Poststop: true},
}

// Open reports whether tasks of the stage may start.
func (s State) Open(stage Stage) bool { return gates[s][stage] }

// Next returns the state that follows from what the tasks do now. It goes as
// far as it can: Next(Next(s, tasks), tasks) is Next(s, tasks).
func Next(s State, tasks []Task) State {
	if Done(tasks) {
		return StatePoststop
	}
	for s < StateWaitAlloc && leaves(s, tasks) {
		s++
	}
	return s
}

// Restored returns the state of an allocation whose tasks were found again.
func Restored(tasks []Task) State { return Next(StatePrestart, tasks) }

// Done reports whether every task but poststop ones is dead.
func Done(tasks []Task) bool {
	return all(tasks, func(t Task) bool { return t.Stage == Poststop || t.Phase == Dead })
}

func leaves(s State, tasks []Task) bool {
	switch s {
	case StateInit:
		return all(tasks, func(t Task) bool { return t.Phase == Pending })
	case StatePrestart:
		return all(tasks, func(t Task) bool {
			switch t.Stage {
			case PrestartEphemeral:
				return t.Successful()
			case PrestartSidecar:
				return t.Phase == Running
			default:
				return true
			}
		})
	case StateMain:
		return all(tasks, func(t Task) bool { return t.Stage != Main || t.Phase != Pending })
	case StatePoststart:
		return all(tasks, func(t Task) bool { return t.Stage != PoststartEphemeral || t.Phase == Dead })
	default:
		return false
	}
}

func all(tasks []Task, ok func(Task) bool) bool {
	for _, t := range tasks {
		if !ok(t) {
			return false
		}
	}
	return true
}
