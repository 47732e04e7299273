package engine

import (
	"strconv"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine/health"
	"taskrun/engine/runner"
	"taskrun/engine/store"
)

// A slot that is wanted no more gets no allocation, even if that was ordered
// after it began to place one.
func TestNothingIsPlacedForWhatHasEnded(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*Engine, *slot){
		"the slot is gone":    func(_ *Engine, s *slot) { s.Gone = true },
		"the job was stopped": func(_ *Engine, s *slot) { s.stop() },
		"the engine leaves":   func(e *Engine, _ *slot) { e.leave() },
	} {
		e := New(Config{})
		s := &slot{jobRun: newJobRun(e.host, &e.runs, &api.Job{ID: new("job")}, nil, nil, nil)}
		end(e, s)
		if a := s.place(); a != nil || len(s.Placed) != 0 || !s.mu.TryLock() {
			t.Errorf("%s: it placed %v, or is locked", name, a)
		}
	}
}

// An allocation that was stopped is replaced when the reschedule policy says so: at
// once if that is within a second, and never if it allows nothing.
func TestReplacementOfWhatWasStopped(t *testing.T) {
	t.Parallel()
	changed := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		unlimited bool
		after     time.Duration
		again     bool
		at        time.Time
	}{
		"later":            {true, 29*time.Second - 1, false, changed.Add(30 * time.Second)},
		"at once":          {true, 29 * time.Second, true, time.Time{}},
		"it was due":       {true, time.Minute, true, time.Time{}},
		"it is not wanted": {false, time.Minute, false, time.Time{}},
	} {
		g := api.NewTaskGroup("g", 1)
		g.ReschedulePolicy = &api.ReschedulePolicy{Attempts: new(0), Unlimited: &tt.unlimited, Delay: new(30 * time.Second), DelayFunction: new("constant")}
		job := &api.Job{ID: new("job"), Type: new("batch"), TaskGroups: []*api.TaskGroup{g}}
		job.Canonicalize()
		job.Version = new(uint64(0))
		e := New(Config{})
		s := &slot{jobRun: newJobRun(e.host, &e.runs, job, nil, nil, nil), group: "g"}
		s.Placed = []placement{{ID: "a"}}
		s.rescheduleStopped(changed, changed.Add(tt.after))
		if s.again != tt.again || !s.last().ReplaceAt.Equal(tt.at) || len(s.Earlier) != map[bool]int{true: 1}[tt.again] {
			t.Errorf("%s: again %t, at %v, earlier %v", name, s.again, s.last().ReplaceAt, s.Earlier)
		}
	}
}

// An allocation that has ended before an update would stop it stays one that should
// run, also for a later engine.
func TestUpdateOfWhatHasJustEnded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		ended, canary bool
		want          string
	}{
		"running":       {false, false, updated},
		"ended":         {true, false, ""},
		"ended, canary": {true, true, updated},
	} {
		version := func(n uint64) *api.Job {
			job := &api.Job{ID: new("job"), Meta: map[string]string{"v": strconv.Itoa(int(n))}, TaskGroups: []*api.TaskGroup{{Name: new("g"), Tasks: []*api.Task{{Name: "t", Driver: "mock_driver"}}}}}
			job.Canonicalize()
			job.Version = &n
			return job
		}
		e := New(Config{DataDir: t.TempDir(), Drivers: map[string]drivers.Driver{"mock_driver": mock.New()}})
		r, err := open(e, version(0), nil)
		if err != nil {
			t.Fatal(err)
		}
		e.watch.end()
		s := r.newSlot("g", 0, 0)
		s.Placed, s.living = []placement{{ID: "a", standing: standing{Canary: tt.canary}}}, true
		s.present = runner.New(s.config(s.Placed[0]))
		e.host.allocs.track(s.present)
		if tt.ended {
			s.present.Fail("it cannot run")
		}
		r.slots, r.versions = slots{s}, append(r.versions, version(1))
		r.newest.Store(r.versions[1])
		r.rollOut(&store.Change{})
		if known := e.host.allocs.known["a"].unwanted; s.Want != 1 || s.last().Unwanted != tt.want || known != tt.want {
			t.Errorf("%s: version %d is wanted; the allocation should stop: %q, stored %q, want %q", name, s.Want, known, s.last().Unwanted, tt.want)
		}
	}
}

// A failed deployment reverts to the latest stable version that has another
// specification.
func TestVersionToRevertTo(t *testing.T) {
	t.Parallel()
	version := func(number uint64, name string, stable bool) *api.Job {
		return &api.Job{ID: new("job"), Name: &name, Version: &number, Stable: &stable}
	}
	for name, tt := range map[string]struct {
		versions versions
		want     string
		back     bool
	}{
		"no stable one":   {versions{version(0, "a", false), version(1, "b", true)}, " - no stable job version to auto revert to", false},
		"the same":        {versions{version(3, "b", true), version(4, "b", false)}, " - not rolling back to stable job version 3 as current job has same specification", false},
		"another":         {versions{version(3, "a", true), version(4, "b", false)}, " - rolling back to job version 3", true},
		"the latest one":  {versions{version(1, "c", true), version(2, "a", true), version(3, "d", false), version(4, "b", false)}, " - rolling back to job version 2", true},
		"only the newest": {versions{version(0, "b", true)}, " - no stable job version to auto revert to", false},
	} {
		e := New(Config{})
		r := newJobRun(e.host, &e.runs, tt.versions[len(tt.versions)-1], nil, nil, nil)
		r.versions = tt.versions
		d := &deploymentRecord{Deployment: &health.Deployment{}}
		if job := r.goBack(d); (job != nil) != tt.back || d.Description != tt.want {
			t.Errorf("%s: %+v, %q", name, job, d.Description)
		}
	}
}

// The job that launches others forgets the oldest of those that have ended if there are
// too many.
func TestDeadChildren(t *testing.T) {
	t.Parallel()
	e := New(Config{})
	run := func(id string) *jobRun { return newJobRun(e.host, &e.runs, &api.Job{ID: &id}, nil, nil, nil) }
	parent := run("parent")
	if parent.children.died(parent) != nil || len(parent.children.dead) != 0 {
		t.Error("the job itself is among its children")
	}
	first := run("0")
	for i := range keptChildren {
		child := first
		if i > 0 {
			child = run(strconv.Itoa(i))
		}
		if surplus := parent.children.died(child); surplus != nil {
			t.Fatalf("child %d: %q is too many", i, *surplus.job.ID)
		}
	}
	if surplus := parent.children.died(run("last")); surplus != first || len(parent.children.dead) != keptChildren {
		t.Errorf("%v is too many; %d are left", surplus, len(parent.children.dead))
	}
}

// A run is recovered before anything else happens in its engine.
func TestRecoverComesFirst(t *testing.T) {
	t.Parallel()
	used := New(Config{})
	if err := used.Submit(); err != nil {
		t.Fatal(err)
	}
	expectError(t, "after Submit", used.Recover(), "cannot recover a run: the engine was used before")
	if err := used.Close(t.Context()); err != nil {
		t.Error(err)
	}
	expectError(t, "after Close", used.Recover(), "cannot recover a run: the engine was used before")
}
