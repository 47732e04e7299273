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
	states // the number of states
)

var stateNames = [states]string{"init", "prestart", "main", "poststart", "wait_alloc", "poststop"}

// String returns Nomad's name of the state.
func (s State) String() string { return stateNames[s] }

// gates says which stages may start tasks in which state.
var gates = [states][stages]bool{
	StatePrestart:  {PrestartEphemeral: true, PrestartSidecar: true},
	StateMain:      {PrestartSidecar: true, Main: true},
	StatePoststart: {PrestartSidecar: true, Main: true, PoststartEphemeral: true, PoststartSidecar: true},
	StateWaitAlloc: {PrestartSidecar: true, Main: true, PoststartSidecar: true},
	StatePoststop:  {Poststop: true},
}

// Open reports whether tasks of the stage may start.
func (s State) Open(stage Stage) bool { return gates[s][stage] }

// Next returns the state that follows from the state of the tasks. It goes as
// far as possible: Next(Next(s, t), t) equals Next(s, t).
func Next(s State, t *Tally) State {
	if t.Done() {
		return StatePoststop
	}
	for s < StateWaitAlloc && leaves(s, t) {
		s++
	}
	return s
}

func leaves(s State, t *Tally) bool {
	switch s {
	case StateInit:
		for _, c := range t.counts {
			if c.running+c.succeeded+c.failed > 0 {
				return false
			}
		}
		return true
	case StatePrestart:
		ephemeral, sidecars := t.counts[PrestartEphemeral], t.counts[PrestartSidecar]
		return ephemeral.pending+ephemeral.running+ephemeral.failed == 0 &&
			t.starting(PrestartSidecar)+sidecars.succeeded+sidecars.failed == 0
	case StateMain:
		return t.starting(Main) == 0
	case StatePoststart:
		return t.live(PoststartEphemeral) == 0
	default:
		return false
	}
}
