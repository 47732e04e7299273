package update

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/health"
)

// world carries out the orders of a rollout at once.
type world struct {
	t        *testing.T
	versions []*api.Job
	rollout  Rollout
	now      time.Time
	waits    bool
}

func newWorld(t *testing.T, change func(g *api.TaskGroup)) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	w.register(func(j *api.Job) { change(j.TaskGroups[0]) })
	return w
}

// register makes another version of the job the newest.
func (w *world) register(change func(*api.Job)) {
	w.t.Helper()
	job := newJob()
	if n := len(w.versions); n > 0 {
		job = clone(w.t, w.versions[n-1])
	}
	change(job)
	job.Version = new(uint64(len(w.versions)))
	if d := w.rollout.Deployment; d != nil {
		d.Supersede()
	}
	version := func(n uint64) *api.Job { return w.versions[n] }
	w.rollout = Rollout{Job: job, Version: version, Places: w.rollout.Places, Deployment: Begin(job, version, w.rollout.Places, false, w.now)}
	w.versions = append(w.versions, job)
	w.step()
}

// step carries out orders until none are left.
func (w *world) step() {
	w.t.Helper()
	for range 100 {
		orders, waits := w.rollout.Next()
		w.waits = waits
		if len(orders) == 0 {
			return
		}
		version := *w.rollout.Job.Version
		stopped := map[int]bool{}
		for _, o := range orders {
			switch o.Action {
			case Start:
				w.rollout.Places = append(w.rollout.Places, Place{
					Group: o.Group, Index: o.Index, Canary: o.Canary, Version: version, Alloc: event(o, version),
				})
			case Replace, Reschedule:
				w.rollout.Places[o.At].Version, w.rollout.Places[o.At].State = version, Living
				w.rollout.Places[o.At].Alloc = event(o, version)
			case Change:
				w.rollout.Places[o.At].Version, w.rollout.Places[o.At].Undeployed = version, w.rollout.Places[o.At].State != Living
			case Promote:
				w.rollout.Places[o.At].Canary = false
			case Stop:
				stopped[o.At] = true
			}
		}
		var left []Place
		for i, p := range w.rollout.Places {
			if !stopped[i] {
				left = append(left, p)
			}
		}
		w.rollout.Places = left
	}
	w.t.Fatal("the orders do not come to an end")
}

func event(o Order, version uint64) string { return fmt.Sprintf("%s%d@%d", o.Group, o.Index, version) }

// report reports the health of allocations.
func (w *world) report(v health.Verdict, allocs ...string) {
	w.t.Helper()
	for _, id := range allocs {
		w.rollout.Deployment.Report("g", id, v, false, w.now)
		w.step()
	}
}

// String lists the places by index: the version, followed by c for a canary and
// x for one whose allocation has ended.
func (w *world) String() string {
	places := slices.Clone(w.rollout.Places)
	slices.SortStableFunc(places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Version, b.Version))
	})
	var shown []string
	for _, p := range places {
		text := fmt.Sprintf("%d:%d", p.Index, p.Version)
		if p.Canary {
			text += "c"
		}
		if p.State != Living {
			text += "x"
		}
		shown = append(shown, text)
	}
	text := strings.Join(shown, " ")
	if w.waits {
		text += " …"
	}
	return text
}

func (w *world) want(places, status string) {
	w.t.Helper()
	if got := w.String(); got != places {
		w.t.Errorf("places %s, want %s", got, places)
	}
	if d := w.rollout.Deployment; status != "" && d.Status != status {
		w.t.Errorf("the deployment is %s, want %s", d.Status, status)
	}
}

func env(value string) func(*api.Job) {
	return func(j *api.Job) { j.TaskGroups[0].Tasks[0].Env = map[string]string{"A": value} }
}

func TestRolling(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(*api.TaskGroup) {})
	w.want("0:0 1:0 2:0", "running")
	w.report(health.Healthy, "g0@0", "g1@0", "g2@0")
	w.want("0:0 1:0 2:0", "successful")
	w.register(env("2"))
	w.want("0:1 1:0 2:0 …", "running")
	w.report(health.Healthy, "g0@1")
	w.want("0:1 1:1 2:0 …", "running")
	w.report(health.Healthy, "g1@1")
	w.want("0:1 1:1 2:1", "running")
	w.report(health.Healthy, "g2@1")
	w.want("0:1 1:1 2:1", "successful")
}

func TestRollingTwoAtOnceAndMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(g *api.TaskGroup) { g.Count, g.Update.MaxParallel = new(4), new(2) })
	w.register(func(j *api.Job) { env("2")(j); j.TaskGroups[0].Count = new(5) })
	w.want("0:1 1:0 2:0 3:0 4:1 …", "running") // the new one counts
	w.report(health.Healthy, "g4@1")
	w.want("0:1 1:1 2:0 3:0 4:1 …", "running")
	w.report(health.Healthy, "g1@1", "g0@1")
	w.want("0:1 1:1 2:1 3:1 4:1", "running")
}

func TestUnhealthyAllocationFailsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(*api.TaskGroup) {})
	w.register(env("2"))
	w.report(health.Unhealthy, "g0@1")
	w.want("0:1 1:0 2:0 …", "failed")
	if w.rollout.Deployment.Revert {
		t.Error("the deployment rolls back without auto_revert")
	}
	w.register(env("1")) // the first version again
	w.want("0:2 1:2 2:2", "running")
}

func TestCanaries(t *testing.T) {
	t.Parallel()
	canary := func(j *api.Job) { env("2")(j); j.TaskGroups[0].Update.Canary = new(1) }
	w := newWorld(t, func(*api.TaskGroup) {})
	w.register(canary)
	w.want("0:0 0:1c 1:0 2:0 …", "running")
	d := w.rollout.Deployment
	if err := d.Promote(nil, w.now); err == nil || err.Error() != `Task group "g" has 0/1 healthy allocations` {
		t.Errorf("promoted: %v", err)
	}
	w.report(health.Healthy, "g0@1")
	w.want("0:0 0:1c 1:0 2:0 …", "running")
	if d.Description != "Deployment is running but requires manual promotion" {
		t.Error(d.Description)
	}
	if err := d.Promote([]string{"other"}, w.now); err != nil || d.Groups["g"].Promoted {
		t.Errorf("promoted another group: %v, the canaries' group: %v", err, d.Groups["g"].Promoted)
	}
	if err := d.Promote(nil, w.now); err != nil {
		t.Fatal(err)
	}
	w.step()
	w.want("0:1 1:1 2:0 …", "running")
	w.report(health.Healthy, "g1@1", "g2@1")
	w.want("0:1 1:1 2:1", "successful")
	if err := d.Promote(nil, w.now); err == nil || err.Error() != "can't promote terminal deployment" {
		t.Errorf("promoted: %v", err)
	}
}

func TestBlueAndGreen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(g *api.TaskGroup) { g.Count = new(2) })
	w.register(func(j *api.Job) {
		env("2")(j)
		j.TaskGroups[0].Update.Canary, j.TaskGroups[0].Update.AutoPromote = new(3), new(true)
	})
	w.want("0:0 0:1c 1:0 1:1c 2:1c …", "running")
	if d := w.rollout.Deployment; d.Description != "Deployment is running pending automatic promotion" {
		t.Error(d.Description)
	}
	w.report(health.Healthy, "g0@1", "g1@1")
	w.want("0:0 0:1c 1:0 1:1c 2:1c …", "running")
	w.report(health.Healthy, "g2@1")
	w.want("0:1 1:1", "successful")
}

func TestCanaryThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(g *api.TaskGroup) { g.Update.Canary, g.Update.AutoRevert = new(2), new(true) })
	w.register(env("2"))
	w.want("0:0 0:1c 1:0 1:1c 2:0 …", "running")
	w.report(health.Unhealthy, "g1@1")
	w.want("0:0 1:0 2:0 …", "failed")
	if !w.rollout.Deployment.Revert {
		t.Error("it is not to go back")
	}
	// The first version again leaves its running allocations alone.
	w.register(env("1"))
	w.want("0:2 1:2 2:2", "running")
}

func TestCanaryOfAnotherVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(g *api.TaskGroup) { g.Update.Canary = new(1) })
	w.register(env("2"))
	w.register(env("3"))
	w.want("0:0 0:2c 1:0 2:0 …", "running")
}

func TestPaused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(*api.TaskGroup) {})
	w.register(env("2"))
	d := w.rollout.Deployment
	if err := d.Pause(true, w.now); err != nil {
		t.Fatal(err)
	}
	w.report(health.Healthy, "g0@1")
	w.want("0:1 1:0 2:0 …", "paused")
	w.now = w.now.Add(time.Hour)
	if again := d.Tick(w.now); !again.IsZero() || d.Status != health.DeploymentPaused {
		t.Errorf("it is %s, to be looked at %v", d.Status, again)
	}
	if err := d.Pause(false, w.now); err != nil {
		t.Fatal(err)
	}
	w.step()
	w.want("0:1 1:1 2:0 …", "running")
	if again := d.Tick(w.now); again.Sub(w.now) != 10*time.Minute {
		t.Errorf("the deadline is in %v", again.Sub(w.now))
	}
}

// An allocation that has ended is no reason to wait, unless it has failed: such ones
// are replaced in turn, as if they were running.
func TestPlacesWithoutAllocations(t *testing.T) {
	t.Parallel()
	for _, failed := range []State{Failed, Due} {
		w := newWorld(t, func(*api.TaskGroup) {})
		w.rollout.Places[0].State, w.rollout.Places[1].State, w.rollout.Places[2].State = failed, Waiting, Over
		w.register(env("2"))
		w.want("0:0x 1:0x 2:1 …", "running")
		w.report(health.Healthy, "g2@1")
		w.want("0:1 1:0x 2:1 …", "running")
		w.report(health.Healthy, "g0@1")
		w.want("0:1 1:1 2:1", "running")
	}
}

// A change that needs no new allocations leaves one that has failed, or waits to be
// replaced, as it is, which delays no other one.
func TestChangeOfFailedAllocations(t *testing.T) {
	t.Parallel()
	priority := func(j *api.Job) { j.Priority = new(70) }
	w := newWorld(t, func(*api.TaskGroup) {})
	w.rollout.Places[0].State, w.rollout.Places[1].State = Failed, Waiting
	w.register(priority)
	w.want("0:1x 1:1x 2:1", "running")
	if n := w.rollout.Deployment.Groups["g"].Desired; n != 1 {
		t.Errorf("the deployment waits for %d allocations", n)
	}
	w.rollout.Places[2].State = Failed
	w.register(func(j *api.Job) { j.Priority = new(80) })
	if w.want("0:2x 1:2x 2:2x", ""); w.rollout.Deployment != nil {
		t.Errorf("there is a deployment: %+v", w.rollout.Deployment)
	}
	w = newWorld(t, func(*api.TaskGroup) {})
	w.rollout.Places[0].State, w.rollout.Places[1].State = Due, Failed
	w.register(priority)
	if w.want("0:1 1:1x 2:1", "running"); w.rollout.Deployment.Groups["g"].Desired != 2 {
		t.Errorf("the deployment is %+v", w.rollout.Deployment.Groups["g"])
	}
	w = newWorld(t, func(*api.TaskGroup) {})
	w.rollout.Places[2].State = Failed // and superfluous
	w.register(func(j *api.Job) { j.TaskGroups[0].Count = new(2) })
	if w.want("0:1 1:1", "running"); w.rollout.Deployment.Groups["g"].Desired != 2 {
		t.Errorf("the deployment is %+v", w.rollout.Deployment.Groups["g"])
	}
	for _, state := range []State{Failed, Waiting} {
		w = newWorld(t, func(*api.TaskGroup) {})
		w.register(env("2"))
		w.rollout.Places[0].State = state
		w.register(priority)
		w.want("0:2x 1:2 2:0 …", "running")
	}
}

// The effect of an ended allocation on a newer version depends on the type of the
// job.
func TestEndedAllocations(t *testing.T) {
	t.Parallel()
	for jobType, want := range map[string]struct{ inPlace, destructive string }{
		"service":  {"0:1x 1:1x 2:1", "0:1 1:1 2:1"},
		"batch":    {"0:1 1:1 2:1", "0:1 1:1 2:1"},
		"sysbatch": {"0:1x", "0:1"},
		"system":   {"0:1", "0:1"},
	} {
		for _, c := range []struct {
			change func(*api.Job)
			want   string
		}{{func(j *api.Job) { j.Priority = new(70) }, want.inPlace}, {env("2"), want.destructive}} {
			for _, first := range []State{Failed, Over} {
				w := newWorld(t, func(g *api.TaskGroup) { g.Update = nil })
				w.versions[0].Type = &jobType
				if w.rollout.Places = w.rollout.Places[:Count(w.versions[0], w.versions[0].TaskGroups[0])]; len(w.rollout.Places) > 1 {
					w.rollout.Places[1].State = Waiting
				}
				w.rollout.Places[0].State = first
				w.register(c.change)
				want := c.want
				if jobType == "service" && first == Over {
					want = strings.Replace(want, "0:1x", "0:1", 1)
				}
				if got := w.String(); got != want {
					t.Errorf("%s, the first one is %d: places %s, want %s", jobType, first, got, want)
				}
			}
		}
	}
}

// What has ended is replaced in the order of the indexes, wherever it stands in the
// list of places.
func TestOrderOfReplacements(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(g *api.TaskGroup) { g.Update = nil })
	places := slices.Clone(w.rollout.Places)
	slices.Reverse(places)
	for i := range places {
		places[i].State = Over
	}
	next := clone(t, w.versions[0])
	next.Version = new(uint64(1))
	r := Rollout{Job: next, Version: func(uint64) *api.Job { return w.versions[0] }, Places: places}
	orders, _ := r.Next()
	var got []int
	for _, o := range orders {
		if o.Action != Replace {
			t.Errorf("order %+v", o)
		}
		got = append(got, o.Index)
	}
	if want := []int{0, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("replaced in the order %v, want %v", got, want)
	}
}

func TestScale(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(*api.TaskGroup) {})
	count := func(n int) func(*api.Job) { return func(j *api.Job) { j.TaskGroups[0].Count = &n } }
	w.register(count(1))
	w.want("0:1", "running")
	w.register(count(3))
	w.want("0:2 1:2 2:2", "running")
	w.register(func(j *api.Job) { j.TaskGroups[0].Name = new("h") })
	w.want("0:3 1:3 2:3", "running")
	w.register(func(j *api.Job) { j.TaskGroups[0].Count = new(0) })
	w.want("", "")
}

// All allocations of an updated batch job run again, at once.
func TestBatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(*api.TaskGroup) {})
	w.versions[0].Type = new("batch")
	w.rollout.Places[1].State = Over
	w.register(env("2"))
	w.want("0:1 1:1 2:1", "")
	if w.rollout.Deployment != nil {
		t.Error("it has a deployment")
	}
}
