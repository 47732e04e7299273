package lifecycle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"taskrun/engine/restart"
)

// walks is the number of random lives of allocations in TestModel.
const walks = 100_000

// sim is a task of the model. It reports like the runner's tasks, without
// running anything.
type sim struct {
	policy  restart.Policy
	tracker restart.Tracker
	place   place
	token   bool // let through its gate
	revived bool
	asked   bool // told to start again
	starts  int  // since the last RestartAll
	held    bool // at a time since the last RestartAll
}

// traced is an order of the machine, and the input that it answers.
type traced struct {
	in  InputKind
	of  int // task
	out EffectKind
	to  int // task
}

// place is the state of a task in the model.
type place uint8

const (
	unborn  place = iota // the allocation is being set up
	ready                // will go to its gate next
	waiting              // at its gate
	running
	dead // will park or end next
	parked
	ended
)

// model is an allocation with everything around it.
type model struct {
	*Alloc
	rng    *rand.Rand
	tasks  []*sim
	now    time.Time
	asked  int  // unanswered Prekill effects
	atOnce bool // every task was canceled, regardless of its stage
	told   map[int]int
	blamed map[int]bool
	trace  []traced
	taken  map[string]int // edges that were taken

	// interrupt says whether the machine is restored before a step; interrupted
	// is then called with whether the state is the same.
	interrupt   func(step int) bool
	interrupted func(asItWas bool)
}

func newModel(seed uint64, taken map[string]int) *model {
	m := &model{
		rng: rand.New(rand.NewPCG(seed, 1)), now: time.Unix(0, 0), taken: taken,
		told: map[int]int{}, blamed: map[int]bool{},
	}
	specs := make([]Task, 1+m.rng.IntN(6))
	leader := m.rng.IntN(12)
	for i := range specs {
		specs[i] = Task{Name: fmt.Sprint(i), Stage: Stage(m.rng.IntN(int(stages)))}
		if i == 0 {
			specs[i].Stage = Main
		}
		specs[i].Leader = i == leader && specs[i].Stage == Main
		m.tasks = append(m.tasks, &sim{policy: restart.Policy{
			Attempts: m.rng.IntN(3), Interval: time.Hour, Delay: time.Second,
			Mode:      [...]string{"fail", "fail", "delay"}[m.rng.IntN(3)],
			OnSuccess: specs[i].Stage.Sidecar() || specs[i].Stage == Main && m.rng.IntN(2) == 0,
		}})
	}
	m.Alloc = NewAlloc(specs)
	return m
}

// walk plays one life and returns the violation of a rule.
func (m *model) walk() error {
	for step := 0; !m.Ended(); step++ {
		if m.interrupt != nil && m.interrupt(step) {
			asItWas, err := m.forget()
			if err != nil {
				return fmt.Errorf("restored at step %d: %w", step, err)
			}
			if m.interrupted != nil {
				m.interrupted(asItWas)
			}
		}
		moves := m.moves(step)
		if len(moves) == 0 {
			return fmt.Errorf("nothing can happen any more, in %v", m.State())
		}
		if step > 2000 {
			return fmt.Errorf("no end")
		}
		if err := moves[m.rng.IntN(len(moves))](); err != nil {
			return err
		}
	}
	return m.atTheEnd()
}

// moves returns the possible next moves.
func (m *model) moves(step int) (moves []func() error) {
	add := func(f func() error) { moves = append(moves, f) }
	input := func(kind InputKind) func() error { return func() error { return m.input(Input{Kind: kind}) } }
	if !m.prepared {
		add(func() error {
			kind := Prepared
			if m.rng.IntN(20) == 0 {
				kind, m.atOnce = SetupFailed, true
			}
			for _, t := range m.tasks {
				t.place = ready
			}
			return m.input(Input{Kind: kind})
		})
	}
	for i := range m.tasks {
		if move := m.taskMove(i); move != nil {
			add(move)
		}
	}
	if m.asked > 0 {
		add(func() error { m.asked--; return m.input(Input{Kind: ReadyToKill}) })
	}
	for i := range m.tasks {
		switch member := m.Alloc.tasks[i]; {
		case member.Held: // the only move if everything waits for it
			add(func() error { return m.input(Input{Kind: Unhold, Task: i}) })
		case member.Stage.Lasting() && member.Phase != Dead && m.kill == nil && m.rng.IntN(60) == 0:
			add(func() error { m.tasks[i].held = true; return m.input(Input{Kind: Hold, Task: i}) })
		}
	}
	switch {
	case step == 300: // long enough
		return []func() error{input(Stop)}
	case m.rng.IntN(40) == 0:
		add(input(Stop))
	case m.rng.IntN(20) == 0:
		add(func() error { return m.restartAll() })
	case m.rng.IntN(200) == 0:
		add(func() error { m.atOnce = true; return m.input(Input{Kind: KillAtOnce}) })
	case m.rng.IntN(200) == 0:
		add(func() error { m.atOnce = true; return m.input(Input{Kind: Overdue}) })
	}
	return moves
}

// restartAll revives dead tasks and restarts running ones, like the runner.
func (m *model) restartAll() error {
	may := m.MayRestart()
	if err := m.input(Input{Kind: RestartAll}); err != nil || !may {
		return err
	}
	for i, t := range m.tasks {
		t.starts, t.held = 0, m.Alloc.tasks[i].Held
		t.asked = t.place == running
	}
	return m.input(Input{Kind: ReviveAll})
}

// taskMove returns the next move of the i-th task; nil: it waits.
func (m *model) taskMove(i int) func() error {
	t, cancelled := m.tasks[i], m.Alloc.tasks[i].Cancelled
	die := func() error { t.place = dead; return m.become(i, Dead, false) }
	switch t.place {
	case ready:
		if cancelled {
			return die
		}
		return func() error { t.place = waiting; return m.input(Input{Kind: Waits, Task: i}) }
	case waiting:
		switch {
		case cancelled:
			return die
		case t.token:
			return func() error { return m.start(i) }
		}
	case running:
		if cancelled {
			return die
		}
		return func() error {
			end := restart.End{
				Successful: m.rng.IntN(2) == 0, Requested: t.asked && m.rng.IntN(4) > 0,
				Halted: m.Alloc.tasks[i].Held && m.rng.IntN(4) > 0,
			}
			t.asked = false
			return m.decide(i, end)
		}
	case dead:
		if m.Alloc.tasks[i].Stage == Poststop {
			return func() error { t.place = ended; return m.input(Input{Kind: Ends, Task: i}) }
		}
		return func() error { t.place = parked; return m.input(Input{Kind: Parks, Task: i}) }
	case parked:
		switch {
		case cancelled:
			return func() error { t.place = ended; return m.input(Input{Kind: Ends, Task: i}) }
		case t.revived:
			return func() error {
				t.place, t.revived = ready, false
				return m.become(i, Pending, false)
			}
		}
	}
	return nil
}

func (m *model) start(i int) error {
	t := m.tasks[i]
	t.token = false
	t.starts++
	if m.rng.IntN(10) == 0 {
		return m.decide(i, restart.End{StartError: true, Recoverable: m.rng.IntN(2) == 0})
	}
	t.place = running
	return m.become(i, Running, false)
}

// decide ends a run of the i-th task according to its restart policy.
func (m *model) decide(i int, end restart.End) error {
	t := m.tasks[i]
	var d restart.Decision
	t.tracker, d = t.tracker.Decide(t.policy, end, m.now, m.rng.Float64())
	m.taken["restart: "+d.Action.String()]++
	if d.Action == restart.Restart || d.Action == restart.Halt {
		t.place = ready
		m.now = m.now.Add(d.Delay)
		return m.become(i, Pending, false)
	}
	t.place = dead
	return m.become(i, Dead, d.Action == restart.Fail)
}

func (m *model) become(i int, p Phase, failed bool) error {
	return m.input(Input{Kind: Changed, Task: i, Phase: p, Failed: failed})
}

// input sends an input to the machine and checks each of its orders.
func (m *model) input(in Input) error {
	before := m.State()
	for _, e := range m.Next(in) {
		m.trace = append(m.trace, traced{in.Kind, in.Task, e.Kind, e.Task})
		if err := m.order(e); err != nil {
			return fmt.Errorf("after %+v: %w", in, err)
		}
	}
	if after := m.State(); after != before {
		m.taken["state: "+before.String()+" → "+after.String()]++
	}
	return nil
}

func (m *model) order(e Effect) error {
	member := &m.Alloc.tasks[e.Task]
	switch e.Kind {
	case Prekill:
		m.asked++
	case Retire:
		if !m.tally.Done() {
			return fmt.Errorf("retired while tasks live")
		}
	case Blame:
		m.taken[fmt.Sprintf("cause: %d", e.Cause)]++
		if m.blamed[e.Task] || member.Phase == Dead || member.Stage == Poststop {
			return fmt.Errorf("task %d (%v, %v) is blamed", e.Task, member.Stage, member.Phase)
		}
		m.blamed[e.Task] = true
	case Tell:
		m.told[e.Task]++
		if m.told[e.Task] > 2 || m.told[e.Task] == 2 && (!m.stopped || !m.blamedOnce()) || member.Phase == Dead {
			return fmt.Errorf("task %d (%v) gets an event of its end again", e.Task, member.Phase)
		}
	case Cancel:
		return m.checkCancel(e.Task)
	case Start:
		m.taken["start: "+member.Stage.String()]++
		m.tasks[e.Task].token = true
		return m.checkStart(e.Task)
	case Revive:
		if m.tasks[e.Task].place != parked {
			return fmt.Errorf("task %d is revived at place %d", e.Task, m.tasks[e.Task].place)
		}
		m.taken["revived"]++
		m.tasks[e.Task].revived = true
	}
	return nil
}

// blamedOnce reports whether there was a cause to kill.
func (m *model) blamedOnce() bool { return len(m.blamed) > 0 }

// checkStart checks that a task may start in the current state of the others.
func (m *model) checkStart(i int) error {
	self := m.Alloc.tasks[i]
	if self.Phase != Pending || self.Cancelled || self.Held {
		return fmt.Errorf("task %d is started, being %v, cancelled %v, held %v", i, self.Phase, self.Cancelled, self.Held)
	}
	for j, other := range m.Alloc.tasks {
		switch {
		case i == j:
		case m.tasks[j].held && self.Stage != Poststop: // nothing waits for it to start
		case self.Stage == Poststop && other.Stage != Poststop && other.Phase != Dead:
			return fmt.Errorf("poststop task %d is started while %d (%v) is %v", i, j, other.Stage, other.Phase)
		case self.Stage == Main && other.Stage == PrestartEphemeral && !other.Successful():
			return fmt.Errorf("main task %d is started before %d has ended well", i, j)
		case self.Stage == Main && other.Stage == PrestartSidecar && m.tasks[j].starts == 0:
			return fmt.Errorf("main task %d is started before sidecar %d", i, j)
		case (self.Stage == PoststartEphemeral || self.Stage == PoststartSidecar) && other.Stage == Main && m.tasks[j].starts == 0:
			return fmt.Errorf("poststart task %d is started before main task %d", i, j)
		}
	}
	return nil
}

// checkCancel checks the order of killing.
func (m *model) checkCancel(i int) error {
	self := m.Alloc.tasks[i]
	if m.atOnce || m.released {
		return nil
	}
	if self.Stage == Poststop {
		return fmt.Errorf("poststop task %d is killed", i)
	}
	for j, other := range m.Alloc.tasks {
		switch {
		case i == j || other.Ended || other.Stage == Poststop:
		case self.Stage.Sidecar() && !other.Stage.Sidecar():
			return fmt.Errorf("sidecar %d is killed before %d (%v) has ended", i, j, other.Stage)
		case other.Leader:
			return fmt.Errorf("task %d is killed before leader %d has ended", i, j)
		}
	}
	return nil
}

// atTheEnd checks the rules for the end of every task.
func (m *model) atTheEnd() error {
	failed := false
	for i, t := range m.Alloc.tasks {
		failed = failed || t.Failed
		if t.Phase != Dead {
			return fmt.Errorf("task %d ended being %v", i, t.Phase)
		}
		if t.Stage == Poststop && !m.atOnce && m.tasks[i].starts == 0 {
			return fmt.Errorf("poststop task %d never ran", i)
		}
	}
	if status, _ := m.Status(); !m.IsOverdue() && (status == "failed") != failed {
		return fmt.Errorf("status %s, a task failed: %v", status, failed)
	}
	if m.State() != StatePoststop && m.prepared {
		return fmt.Errorf("ended in %v", m.State())
	}
	return nil
}

// TestModel plays many random lives and checks the rules that apply to all of
// them, that every edge of the tables was taken, and that the same seed leads
// to the same life.
func TestModel(t *testing.T) {
	t.Parallel()
	taken := map[string]int{}
	for seed := range uint64(walks) {
		m := newModel(seed, taken)
		if err := m.walk(); err != nil {
			t.Fatalf("walk %d: %v\n%+v\n%v", seed, err, m.Alloc.tasks, m.trace)
		}
		if seed%1000 == 0 {
			again := newModel(seed, map[string]int{})
			if err := again.walk(); err != nil || !slices.Equal(again.trace, m.trace) {
				t.Fatalf("walk %d differs the second time: %v", seed, err)
			}
		}
	}
	edges := []string{
		"state: init → prestart", "state: init → main", "state: prestart → main", "state: main → poststart",
		"state: poststart → wait_alloc", "state: wait_alloc → poststop", "state: prestart → poststop",
		"state: main → poststop", "state: poststart → poststop", "state: init → poststop",
		"state: prestart → init", "state: main → init", "state: poststart → init", "state: wait_alloc → init",
		"cause: 1", "cause: 2", "cause: 3", "revived",
		"restart: finish", "restart: fail", "restart: restart", "restart: halt",
	}
	for stage := range stages {
		edges = append(edges, "start: "+stage.String())
	}
	t.Logf("%d walks", walks)
	for _, e := range edges {
		t.Logf("%8d × %s", taken[e], e)
		if taken[e] == 0 {
			t.Errorf("no walk took %q", e)
		}
	}
}

// The model detects violations of each rule, so its walks would notice a
// machine that breaks one.
func TestModelCatchesBrokenRules(t *testing.T) {
	t.Parallel()
	type member struct {
		stage Stage
		phase Phase
	}
	for name, c := range map[string]struct {
		tasks []member
		order Effect
		valid []member // with which the same order is correct
	}{
		"a main task starts beside a prestart task": {
			[]member{{PrestartEphemeral, Running}, {Main, Pending}},
			Effect{Kind: Start, Task: 1},
			[]member{{PrestartEphemeral, Dead}, {Main, Pending}},
		},
		"a poststop task does not wait for a sidecar": {
			[]member{{PrestartSidecar, Running}, {Main, Dead}, {Poststop, Pending}},
			Effect{Kind: Start, Task: 2},
			[]member{{PrestartSidecar, Dead}, {Main, Dead}, {Poststop, Pending}},
		},
		"a sidecar is killed first": {
			[]member{{PrestartSidecar, Running}, {Main, Running}},
			Effect{Kind: Cancel, Task: 0},
			[]member{{PrestartSidecar, Running}, {Poststop, Pending}},
		},
		"a poststop task is killed": {
			[]member{{Main, Running}, {Poststop, Pending}},
			Effect{Kind: Cancel, Task: 1},
			[]member{{Main, Running}, {Main, Pending}},
		},
		"a dead task is blamed": {
			[]member{{Main, Dead}}, Effect{Kind: Blame}, []member{{Main, Running}},
		},
		"a dead task is killed": {
			[]member{{Main, Dead}}, Effect{Kind: Tell}, []member{{Main, Running}},
		},
		"tasks retire while one lives": {
			[]member{{Main, Running}}, Effect{Kind: Retire}, []member{{Main, Dead}},
		},
	} {
		carryOut := func(members []member) error {
			m := newModel(1, map[string]int{})
			tasks := make([]Task, len(members))
			m.tasks = nil
			for i, member := range members {
				tasks[i] = Task{Name: fmt.Sprint(i), Stage: member.stage, Phase: member.phase}
				m.tasks = append(m.tasks, &sim{place: running, starts: 1})
			}
			m.Alloc = NewAlloc(tasks)
			return m.order(c.order)
		}
		if err := carryOut(c.tasks); err == nil {
			t.Errorf("%s: the model does not notice", name)
		}
		if err := carryOut(c.valid); err != nil {
			t.Errorf("%s: the model refuses what is right: %v", name, err)
		}
	}
}

// Only a parked task is revived, and a life without further moves is an error:
// that happens if the failure of a sibling is ignored.
func TestModelCatchesStuckTasks(t *testing.T) {
	t.Parallel()
	m := newModel(1, map[string]int{})
	m.prepared = true
	for _, s := range m.tasks {
		s.place = waiting
	}
	if err := m.order(Effect{Kind: Revive}); err == nil {
		t.Error("a task at its gate is revived")
	}
	m.tasks[0].place = parked
	if err := m.order(Effect{Kind: Revive}); err != nil {
		t.Error(err)
	}
	m.tasks[0].place, m.tasks[0].revived = waiting, false
	if err := m.walk(); err == nil || err.Error() != "nothing can happen any more, in init" {
		t.Errorf("the life goes on: %v", err)
	}
}
