package event

import (
	"slices"
	"testing"

	"github.com/hashicorp/nomad/api"
)

// A job is found by its ID, and outside of the default namespace also by its ID
// and its namespace.
func TestNamesOfJobs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ namespace, id, key, name string }{
		{"", "web", "web", "web"}, {"default", "web", "web", "web"}, {"team", "web", "web team", "web@team"},
	} {
		key := JobKey(c.namespace, c.id)
		if key != c.key || JobName(key) != c.name {
			t.Errorf("%s in %q: key %q, name %q", c.id, c.namespace, key, JobName(key))
		}
		if namespace, id := SplitJobKey(key); id != c.id || namespace != c.namespace && c.namespace != "" {
			t.Errorf("%q: namespace %q, ID %q", key, namespace, id)
		}
		for name, want := range map[string]bool{c.name: true, c.id: true, "web@other": false, "we": false, "": false} {
			if got := NamesJob(name, key); got != want {
				t.Errorf("%q names %q: %t", name, key, got)
			}
		}
	}
}

// Groups and tasks have names of all lengths, the shortest first.
func TestNamesOfParts(t *testing.T) {
	t.Parallel()
	if got, want := TaskNames("j", "g", 2, "t"), []string{"t", "g/t", "g[2]/t", "j/t", "j/g/t", "j/g[2]/t"}; !slices.Equal(got, want) {
		t.Errorf("a task: %q, want %q", got, want)
	}
	if got, want := GroupNames("j", "g", 2), []string{"g", "g[2]", "j/g", "j/g[2]"}; !slices.Equal(got, want) {
		t.Errorf("a group: %q, want %q", got, want)
	}
}

// An event concerns its job, and that on whose behalf it runs.
func TestEventsOfAJob(t *testing.T) {
	t.Parallel()
	child := &Alloc{Job: "j/1", Parent: "j"}
	for name, c := range map[string]struct {
		e    Event
		want []string // among the jobs below
	}{
		"a deployment":                    {Event{Body: Deployment{Job: "j"}}, []string{"j"}},
		"a version":                       {Event{Body: Version{Job: "j/1", Parent: "j"}}, []string{"j", "j/1"}},
		"an evaluation":                   {Event{Body: Evaluation{Job: "j/1", Parent: "j"}}, []string{"j", "j/1"}},
		"an evaluation without a parent":  {Event{Body: Evaluation{Job: "j"}}, []string{"j"}},
		"a notice":                        {Event{Body: Notice{Job: "j"}, Alloc: child}, []string{"j"}},
		"a notice about an allocation":    {Event{Body: Notice{}, Alloc: child}, []string{"j", "j/1"}},
		"a notice about nothing":          {Event{Body: Notice{}}, nil},
		"a state":                         {Event{Body: TaskState{}, Alloc: child}, []string{"j", "j/1"}},
		"a state without a parent's name": {Event{Body: TaskState{}, Alloc: &Alloc{Job: "j"}}, []string{"j"}},
	} {
		var got []string
		for _, job := range []string{"", "j", "j/1", "k"} {
			if c.e.Of(job) {
				got = append(got, job)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s concerns %q, want %q", name, got, c.want)
		}
	}
}

// A pending task has been stopped by a user until it starts, and once it has ended.
func TestHalted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		events []*api.TaskEvent
		want   bool
	}{
		"nothing":                   {nil, false},
		"it runs":                   {[]*api.TaskEvent{Started()}, false},
		"it is stopped":             {[]*api.TaskEvent{Started(), Pausing()}, true},
		"it has ended":              {[]*api.TaskEvent{Started(), Pausing(), Terminated(0, 0, false, nil)}, true},
		"it waits":                  {[]*api.TaskEvent{Started(), Pausing(), WaitingShutdownDelay(1)}, false},
		"it does not wait":          {[]*api.TaskEvent{Started(), Pausing(), SkippingShutdownDelay(1)}, false},
		"it has ended after a wait": {[]*api.TaskEvent{Started(), Pausing(), WaitingShutdownDelay(1), Terminated(0, 0, false, nil)}, true},
		"it is started":             {[]*api.TaskEvent{Pausing(), Resuming()}, false},
		"it has started":            {[]*api.TaskEvent{Pausing(), Resuming(), Started()}, false},
	} {
		if got := Halted(c.events); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if stop, start := Pausing(), Resuming(); stop.DisplayMessage != "User requested task to stop" || start.DisplayMessage != "User requested task to start" ||
		stop.Type != TaskPausing || start.Type != TaskResuming {
		t.Errorf("%+v, %+v", stop, start)
	}
}

// A line of a history begins with its number, if it has one.
func TestLines(t *testing.T) {
	t.Parallel()
	e := Event{Body: Notice{Text: "x"}}
	plain, err := e.Line(0)
	if err != nil {
		t.Fatal(err)
	}
	numbered, err := e.Line(7)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"seq":7,` + string(plain[1:]); string(numbered) != want || plain[len(plain)-1] != '\n' {
		t.Errorf("%s, want %s", numbered, want)
	}
	if Number(plain) != 0 || Number(numbered) != 7 {
		t.Errorf("the numbers are %d and %d", Number(plain), Number(numbered))
	}
	if _, err := (Event{Body: Output{}}).Line(1); err == nil {
		t.Error("output is a line of a history")
	}
	if err := (&UnknownTypeError{"x"}).Error(); err != `there are no events of type "x"` {
		t.Error(err)
	}
}

// A bus reserves numbers before it gives them, and observes every event.
func TestReserve(t *testing.T) {
	t.Parallel()
	var b Bus
	var asked, observed []uint64
	b.Reserve = func(seq uint64) uint64 {
		asked = append(asked, seq)
		return seq + 1
	}
	b.Observe = func(e Event) { observed = append(observed, e.Seq) }
	for range 5 {
		b.Publish(nil, "", Notice{})
	}
	if !slices.Equal(asked, []uint64{1, 3, 5}) || !slices.Equal(observed, []uint64{1, 2, 3, 4, 5}) || b.Last() != 5 {
		t.Errorf("asked at %v, observed %v, the last one is %d", asked, observed, b.Last())
	}
}
