package health

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

// The orders to a deployment, described by their effect.
func TestOrders(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	later := begin.Add(5 * time.Minute)
	// Of two groups with canaries, all allocations of the first are healthy.
	deployment := func() *Deployment {
		d := &Deployment{Status: DeploymentRunning, Groups: map[string]*DeploymentGroup{
			"one": {Desired: 2, Canaries: 1, Healthy: []string{"1", "2"}, Progress: time.Minute, Deadline: begin.Add(time.Minute)},
			"two": {Desired: 2, Canaries: 1, Healthy: []string{"3"}, Progress: time.Minute, Deadline: begin.Add(time.Minute)},
		}}
		d.describe()
		return d
	}
	for name, tt := range map[string]struct {
		order func(d *Deployment) error
		err   string
		want  string
	}{
		"promote all that are healthy": {func(d *Deployment) error {
			d.Report("two", "4", Healthy, false, begin)
			return d.Promote(nil, later)
		}, "", "successful: Deployment completed successfully"},
		"promote before all are placed": {
			func(d *Deployment) error { return d.Promote(nil, later) },
			"", "running: Deployment is running",
		},
		"promote one group": {
			func(d *Deployment) error { return d.Promote([]string{"one"}, later) },
			"", "running: Deployment is running but requires manual promotion",
		},
		"promote one group after the other": {func(d *Deployment) error {
			if err := d.Promote([]string{"one"}, later); err != nil {
				return err
			}
			return d.Promote([]string{"two"}, later)
		}, "", "running: Deployment is running"},
		"promote a group twice": {func(d *Deployment) error {
			if err := d.Promote([]string{"one"}, later); err != nil {
				return err
			}
			return d.Promote([]string{"one"}, later)
		}, "", "running: Deployment is running but requires manual promotion"},
		"promote an unknown group": {
			func(d *Deployment) error { return d.Promote([]string{"other"}, later) },
			"", "running: Deployment is running but requires manual promotion",
		},
		"promote what has no canaries": {func(d *Deployment) error {
			d.Groups["one"].Canaries, d.Groups["two"].Canaries = 0, 0
			return d.Promote(nil, later)
		}, "", "running: Deployment is running"},
		"promote too early": {func(d *Deployment) error {
			d.Groups["one"].Healthy, d.Groups["two"].Healthy = nil, nil
			return d.Promote(nil, later)
		}, "Task group \"one\" has 0/1 healthy allocations\nTask group \"two\" has 0/1 healthy allocations", "running: Deployment is running but requires manual promotion"},
		"promote while paused": {func(d *Deployment) error {
			if err := d.Pause(true, begin); err != nil {
				return err
			}
			return d.Promote(nil, later)
		}, "", "paused: Deployment is paused"},
		"resume when all are healthy": {func(d *Deployment) error {
			d.Report("two", "4", Healthy, false, begin)
			if err := d.Pause(true, begin); err != nil {
				return err
			}
			if err := d.Promote(nil, begin); err != nil {
				return err
			}
			return d.Pause(false, later)
		}, "", "successful: Deployment completed successfully"},
		"resume what promotes itself": {func(d *Deployment) error {
			if err := d.Pause(true, begin); err != nil {
				return err
			}
			d.Groups["one"].AutoPromote, d.Groups["two"].AutoPromote = true, true
			return d.Pause(false, later)
		}, "", "running: Deployment is running"},
		"resume what only half promotes itself": {func(d *Deployment) error {
			if err := d.Pause(true, begin); err != nil {
				return err
			}
			d.Groups["one"].AutoPromote = true
			return d.Pause(false, later)
		}, "", "running: Deployment is running but requires manual promotion"},
		"resume what runs": {
			func(d *Deployment) error { return d.Pause(false, later) },
			"", "running: Deployment is running but requires manual promotion",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := deployment()
			err := tt.order(d)
			if (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if got := d.Status + ": " + d.Description; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// An order renews the deadlines of its groups, and of no others.
func TestOrdersMoveDeadlines(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	later := begin.Add(5 * time.Minute)
	for name, tt := range map[string]struct {
		order    func(d *Deployment) error
		one, two time.Time
	}{
		"promote": {func(d *Deployment) error { return d.Promote([]string{"one"}, later) }, later.Add(time.Minute), begin},
		"pause":   {func(d *Deployment) error { return d.Pause(true, later) }, begin, begin},
		"resume": {func(d *Deployment) error {
			d.Status = DeploymentPaused
			return d.Pause(false, later)
		}, later.Add(time.Minute), later.Add(time.Minute)},
	} {
		d := &Deployment{Status: DeploymentRunning, Groups: map[string]*DeploymentGroup{
			"one": {Desired: 2, Canaries: 1, Healthy: []string{"1"}, Progress: time.Minute, Deadline: begin},
			"two": {Desired: 2, Canaries: 1, Healthy: []string{"2"}, Progress: time.Minute, Deadline: begin},
		}}
		if err := tt.order(d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if one, two := d.Groups["one"].Deadline, d.Groups["two"].Deadline; one != tt.one || two != tt.two {
			t.Errorf("%s: deadlines %v and %v, want %v and %v", name, one, two, tt.one, tt.two)
		}
	}
}

// A failed deployment is reverted if a failed group has auto_revert.
func TestRevert(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, fail := range map[string]func(d *Deployment){
		"by hand":   func(d *Deployment) { _ = d.Fail() },
		"unhealthy": func(d *Deployment) { d.Report("reverts", "1", Unhealthy, false, begin) },
		"late":      func(d *Deployment) { d.Tick(begin) },
	} {
		for _, reverts := range []bool{true, false} {
			d := &Deployment{Status: DeploymentRunning, Groups: map[string]*DeploymentGroup{
				"reverts": {Desired: 1, Progress: time.Minute, Deadline: begin, AutoRevert: reverts},
				"other":   {Desired: 1, Progress: time.Minute, Deadline: begin.Add(time.Hour)},
			}}
			fail(d)
			if d.Status != DeploymentFailed || d.Revert != reverts {
				t.Errorf("%s: %s, reverts %t, want %t", name, d.Status, d.Revert, reverts)
			}
		}
	}
}

// Tick returns the next deadline of the groups that still wait.
func TestTick(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := &Deployment{Status: DeploymentRunning, Groups: map[string]*DeploymentGroup{
		"late":    {Desired: 1, Progress: time.Minute, Deadline: begin.Add(3 * time.Minute)},
		"early":   {Desired: 2, Healthy: []string{"1"}, Progress: time.Minute, Deadline: begin.Add(2 * time.Minute)},
		"healthy": {Desired: 1, Healthy: []string{"1"}, Progress: time.Minute, Deadline: begin.Add(time.Minute)},
		"never":   {Desired: 1, Deadline: begin},
	}}
	if again := d.Tick(begin); again != begin.Add(2*time.Minute) {
		t.Errorf("again at %v", again)
	}
	d.Status = DeploymentPaused
	if again := d.Tick(begin.Add(time.Hour)); !again.IsZero() || d.Status != DeploymentPaused {
		t.Errorf("a paused deployment is %s, and looked at again at %v", d.Status, again)
	}
}

// A deployment that is late reverts if any group that still waits has auto_revert,
// even if that one has time left.
func TestTickReverts(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	late := DeploymentGroup{Desired: 1, Progress: time.Minute, Deadline: begin}
	for name, tt := range map[string]struct {
		other DeploymentGroup
		want  bool
	}{
		"none has it":       {DeploymentGroup{Desired: 1, Progress: time.Minute, Deadline: begin.Add(time.Minute)}, false},
		"with time left":    {DeploymentGroup{Desired: 1, Progress: time.Minute, Deadline: begin.Add(time.Minute), AutoRevert: true}, true},
		"without deadline":  {DeploymentGroup{Desired: 1, AutoRevert: true}, true},
		"healthy":           {DeploymentGroup{Desired: 1, Healthy: []string{"1"}, AutoRevert: true}, false},
		"late as the other": {DeploymentGroup{Desired: 1, Progress: time.Minute, Deadline: begin, AutoRevert: true}, true},
	} {
		d := &Deployment{Status: DeploymentRunning, Groups: map[string]*DeploymentGroup{"late": &late, "other": &tt.other}}
		if d.Tick(begin); d.Status != DeploymentFailed || d.Revert != tt.want {
			t.Errorf("%s: %s, reverts %t", name, d.Status, d.Revert)
		}
	}
}

// A deployment that has ended counts verdicts, and stays as it is.
func TestReportAfterTheEnd(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := &Deployment{Status: DeploymentFailed, Groups: map[string]*DeploymentGroup{"g": {Desired: 1, Deadline: begin}}}
	d.Report("g", "1", Unhealthy, false, begin)
	d.Report("g", "2", Healthy, false, begin.Add(time.Second))
	want := &Deployment{Status: DeploymentFailed, Groups: map[string]*DeploymentGroup{
		"g": {Desired: 1, Healthy: []string{"2"}, Unhealthy: []string{"1"}, Deadline: begin},
	}}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An allocation counts once, for the last verdict on it.
func TestReportOnce(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := &Deployment{Status: DeploymentRunning, Groups: map[string]*DeploymentGroup{"g": {Desired: 3, Progress: time.Minute, Deadline: begin}}}
	for i, v := range []Verdict{Healthy, Healthy, Unhealthy, Unhealthy, Unknown, Healthy} {
		d.Report("g", "1", v, true, begin.Add(time.Duration(i)*time.Second))
	}
	g := d.Groups["g"]
	if got := strings.Join(g.Healthy, ",") + "/" + strings.Join(g.Unhealthy, ","); got != "1/" {
		t.Errorf("healthy and unhealthy are %s", got)
	}
	if want := begin.Add(5*time.Second + time.Minute); g.Deadline != want {
		t.Errorf("the deadline is %v, want %v", g.Deadline, want)
	}
	d.Report("g", "1", Healthy, false, begin.Add(time.Hour))
	if len(g.Healthy) != 1 || g.Deadline.After(begin.Add(time.Hour)) {
		t.Error("the same word twice is progress")
	}
}

// Only a running deployment waits for its canaries, until they are promoted.
func TestCanarying(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status string
		group  DeploymentGroup
		want   bool
	}{
		"canaries":          {DeploymentRunning, DeploymentGroup{Canaries: 1}, true},
		"no canaries":       {DeploymentRunning, DeploymentGroup{}, false},
		"promoted":          {DeploymentRunning, DeploymentGroup{Canaries: 1, Promoted: true}, false},
		"while it pauses":   {DeploymentPaused, DeploymentGroup{Canaries: 1}, false},
		"when it has ended": {DeploymentFailed, DeploymentGroup{Canaries: 1}, false},
	} {
		d := &Deployment{Status: tt.status, Groups: map[string]*DeploymentGroup{"g": &tt.group, "other": {}}}
		if got := d.Canarying(); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// The health of allocations can be set, and a deployment can be failed, while it
// is in progress.
func TestActive(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]bool{
		DeploymentRunning: true, DeploymentPaused: true, DeploymentSuccessful: false, DeploymentFailed: false, DeploymentCancelled: false,
	} {
		d := &Deployment{Status: status}
		if err := d.CheckSetHealth(); (err == nil) != want {
			t.Errorf("%s: health can be set: %v", status, err)
		}
		if err := d.Fail(); (err == nil) != want {
			t.Errorf("%s: it can be failed: %v", status, err)
		}
	}
}

// A deployment has the groups that take part, with the values of their update
// blocks.
func TestNewDeployment(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	group := func(name string, count, parallel int, flag bool) *api.TaskGroup {
		return &api.TaskGroup{Name: &name, Count: &count, Update: &api.UpdateStrategy{
			MaxParallel: &parallel, ProgressDeadline: new(time.Minute), AutoPromote: &flag, AutoRevert: new(!flag),
		}}
	}
	job := &api.Job{Type: new("system"), Version: new(uint64(7)), TaskGroups: []*api.TaskGroup{
		group("a", 3, 1, true), group("b", 1, 2, false), group("none", 0, 1, true), group("other", 1, 0, true), {Name: new("bare"), Count: new(1)},
	}}
	want := &Deployment{Version: 7, Status: DeploymentRunning, Description: "Deployment is running", Groups: map[string]*DeploymentGroup{
		"a": {Desired: 3, Progress: time.Minute, Deadline: begin.Add(time.Minute), AutoPromote: true},
		"b": {Desired: 1, Progress: time.Minute, Deadline: begin.Add(time.Minute), AutoRevert: true},
	}}
	if diff := cmp.Diff(want, NewDeployment(job, begin)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want.SetCanaries("none", 1) // has no effect
	want.SetCanaries("a", 2)
	if want.Groups["a"].Canaries != 2 || want.Description != "Deployment is running pending automatic promotion" {
		t.Errorf("with canaries: %q, %+v", want.Description, want.Groups["a"])
	}
	want.SetCanaries("b", 1)
	if want.Description != "Deployment is running but requires manual promotion" {
		t.Errorf("one group is promoted by hand: %q", want.Description)
	}
}

// Canaries promote themselves when those of all groups are healthy.
func TestPromotionByItself(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := &Deployment{Status: DeploymentRunning, Groups: map[string]*DeploymentGroup{
		"a":     {Desired: 2, Canaries: 2, AutoPromote: true, Progress: time.Minute},
		"b":     {Desired: 2, Canaries: 1, AutoPromote: true, Progress: time.Minute},
		"plain": {Desired: 1, Healthy: []string{"p"}},
	}}
	for i, step := range []struct {
		group, alloc string
		promoted     bool
	}{{"a", "1", false}, {"b", "2", false}, {"a", "3", true}} {
		at := begin.Add(time.Duration(i) * time.Second)
		d.Report(step.group, step.alloc, Healthy, false, at)
		for _, name := range []string{"a", "b"} {
			g := d.Groups[name]
			if g.Promoted != step.promoted || step.promoted && g.Deadline != at.Add(time.Minute) {
				t.Errorf("step %d: group %s is promoted: %t, deadline %v", i, name, g.Promoted, g.Deadline)
			}
		}
	}
	if !d.Groups["plain"].Promoted || d.Description != "Deployment is running" {
		t.Errorf("%q, %+v", d.Description, d.Groups["plain"])
	}
	d.Report("b", "4", Healthy, false, begin)
	if d.Status != DeploymentSuccessful || d.Description != "Deployment completed successfully" {
		t.Errorf("%s: %s", d.Status, d.Description)
	}
}
