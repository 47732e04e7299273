package health

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/lifecycle"
)

// moment is the state of a watched allocation from a time on.
type moment struct {
	at      time.Duration
	tasks   []Task
	failing bool // checks fail
}

func TestWatch(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	runs := func(at time.Duration) Task {
		return Task{Name: "t", Stage: lifecycle.Main, Phase: lifecycle.Running, Started: begin.Add(at)}
	}
	waits := Task{Name: "t", Stage: lifecycle.Main}
	ended := func(stage lifecycle.Stage, failed bool) Task {
		return Task{Name: "e", Stage: stage, Phase: lifecycle.Dead, Finished: true, Failed: failed, Started: begin}
	}
	tasks := func(list ...Task) []Task { return list }

	for name, tt := range map[string]struct {
		noChecks bool
		moments  []moment
		want     Verdict
		after    time.Duration
	}{
		"runs for min_healthy_time":          {moments: []moment{{0, tasks(waits), false}, {2 * time.Second, tasks(runs(2 * time.Second)), false}}, want: Healthy, after: 12 * time.Second},
		"a restart starts again":             {moments: []moment{{0, tasks(runs(0)), false}, {9 * time.Second, tasks(waits), false}, {10 * time.Second, tasks(runs(10 * time.Second)), false}}, want: Healthy, after: 20 * time.Second},
		"a restart between two looks":        {moments: []moment{{0, tasks(runs(0)), false}, {9 * time.Second, tasks(runs(8 * time.Second)), false}}, want: Healthy, after: 19 * time.Second},
		"never runs":                         {moments: []moment{{0, tasks(waits), false}}, want: Unhealthy, after: time.Minute},
		"a main task that ended":             {moments: []moment{{0, tasks(ended(lifecycle.Main, false)), false}}, want: Unhealthy},
		"a failed prestart task":             {moments: []moment{{0, tasks(ended(lifecycle.PrestartEphemeral, true), waits), false}}, want: Unhealthy},
		"a prestart task that ended":         {moments: []moment{{0, tasks(ended(lifecycle.PrestartEphemeral, false), runs(0)), false}}, want: Healthy, after: 10 * time.Second},
		"a poststart task that ended":        {moments: []moment{{0, tasks(ended(lifecycle.PoststartEphemeral, false), runs(0)), false}}, want: Healthy, after: 10 * time.Second},
		"failed, but still running":          {moments: []moment{{0, tasks(Task{Phase: lifecycle.Running, Failed: true}), false}}, want: Unhealthy},
		"a poststart task that starts again": {moments: []moment{{0, tasks(ended(lifecycle.PoststartEphemeral, false), runs(0)), false}, {time.Second, tasks(Task{Stage: lifecycle.PoststartEphemeral}, runs(0)), false}}, want: Unhealthy, after: time.Second},
		"a prestart task that starts again":  {moments: []moment{{0, tasks(ended(lifecycle.PrestartEphemeral, false), runs(0)), false}, {time.Second, tasks(Task{Stage: lifecycle.PrestartEphemeral}, runs(0)), false}, {2 * time.Second, tasks(ended(lifecycle.PrestartEphemeral, false), runs(0)), false}}, want: Healthy, after: 12 * time.Second},
		"poststop tasks wait":                {moments: []moment{{0, tasks(Task{Stage: lifecycle.Poststop}, runs(0)), false}}, want: Healthy, after: 10 * time.Second},
		"checks must pass as long":           {moments: []moment{{0, tasks(runs(0)), true}, {5 * time.Second, tasks(runs(0)), false}}, want: Healthy, after: 15 * time.Second},
		"a check that fails again":           {moments: []moment{{0, tasks(runs(0)), false}, {5 * time.Second, tasks(runs(0)), true}, {6 * time.Second, tasks(runs(0)), false}}, want: Healthy, after: 16 * time.Second},
		"checks that never pass":             {moments: []moment{{0, tasks(runs(0)), true}}, want: Unhealthy, after: time.Minute},
		"checks that do not count":           {noChecks: true, moments: []moment{{0, tasks(runs(0)), true}}, want: Healthy, after: 10 * time.Second},
		"healthy just in time":               {moments: []moment{{0, tasks(waits), false}, {50 * time.Second, tasks(runs(50 * time.Second)), false}}, want: Healthy, after: time.Minute},
		"a moment too late":                  {moments: []moment{{0, tasks(waits), false}, {51 * time.Second, tasks(runs(51 * time.Second)), false}}, want: Unhealthy, after: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := Begin(Policy{MinHealthyTime: 10 * time.Second, HealthyDeadline: time.Minute, Checks: !tt.noChecks}, begin)
			now, v := begin, Unknown
			for i := 0; v == Unknown; {
				var again time.Time
				w, v, again = w.Step(tt.moments[i].tasks, !tt.moments[i].failing, now)
				if v != Unknown {
					break
				}
				if !again.After(now) {
					t.Fatalf("at %v it wants to be looked at again at %v", now.Sub(begin), again.Sub(begin))
				}
				now = again
				if i+1 < len(tt.moments) && begin.Add(tt.moments[i+1].at).Before(again) {
					i++
					now = begin.Add(tt.moments[i].at)
				}
			}
			if v != tt.want || now.Sub(begin) != tt.after {
				t.Errorf("%v after %v, want %v after %v", v, now.Sub(begin), tt.want, tt.after)
			}
		})
	}
}

func TestBlame(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w := Begin(Policy{MinHealthyTime: 10 * time.Second, HealthyDeadline: time.Minute}, begin)
	got := w.Blame([]Task{
		{Name: "failed", Phase: lifecycle.Dead, Failed: true, Finished: true, Stage: lifecycle.Main},
		{Name: "waits", Stage: lifecycle.Main},
		{Name: "ended", Phase: lifecycle.Dead, Finished: true, Stage: lifecycle.Main},
		{Name: "late", Phase: lifecycle.Running, Started: begin.Add(55 * time.Second), Stage: lifecycle.Main},
		{Name: "good", Phase: lifecycle.Running, Started: begin, Stage: lifecycle.Main},
		{Name: "init", Phase: lifecycle.Dead, Finished: true, Stage: lifecycle.PrestartEphemeral},
		{Name: "after", Stage: lifecycle.Poststop},
	})
	want := map[string]string{
		"failed": "Unhealthy because of failed task",
		"waits":  "Task not running by healthy_deadline of 1m0s",
		"ended":  "Unhealthy because of dead task",
		"after":  "Task not running by healthy_deadline of 1m0s",
		"good":   "Task not running for min_healthy_time of 10s by healthy_deadline of 1m0s",
		"late":   "Task not running for min_healthy_time of 10s by healthy_deadline of 1m0s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDeployment(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	job := func(progress time.Duration) *api.Job {
		g := api.NewTaskGroup("g", 2)
		g.Tasks = []*api.Task{api.NewTask("t", "raw_exec")}
		g.Update = &api.UpdateStrategy{ProgressDeadline: &progress}
		j := &api.Job{ID: new("job"), Type: new("service"), TaskGroups: []*api.TaskGroup{g}}
		j.Canonicalize()
		return j
	}
	for name, tt := range map[string]struct {
		progress time.Duration
		steps    func(d *Deployment)
		want     string
	}{
		"all healthy": {10 * time.Minute, func(d *Deployment) {
			d.Report("g", "1", Healthy, false, begin)
			d.Report("g", "2", Healthy, false, begin)
		}, "successful: Deployment completed successfully"},
		"one to go": {10 * time.Minute, func(d *Deployment) { d.Report("g", "3", Healthy, false, begin) }, "running: Deployment is running"},
		"unhealthy, replaced": {10 * time.Minute, func(d *Deployment) {
			d.Report("g", "4", Unhealthy, true, begin)
			d.Report("g", "5", Healthy, false, begin)
			d.Report("g", "6", Healthy, false, begin)
		}, "successful: Deployment completed successfully"},
		"unhealthy for good":           {10 * time.Minute, func(d *Deployment) { d.Report("g", "7", Unhealthy, false, begin) }, "failed: Failed due to unhealthy allocations"},
		"without a deadline the first": {0, func(d *Deployment) { d.Report("g", "8", Unhealthy, true, begin) }, "failed: Failed due to unhealthy allocations"},
		"no progress":                  {10 * time.Minute, func(d *Deployment) { d.Tick(begin.Add(10 * time.Minute)) }, "failed: Failed due to progress deadline"},
		"progress moves the deadline": {10 * time.Minute, func(d *Deployment) {
			d.Report("g", "9", Healthy, false, begin.Add(9*time.Minute))
			d.Tick(begin.Add(18 * time.Minute))
		}, "running: Deployment is running"},
		"stopped":          {10 * time.Minute, func(d *Deployment) { d.Cancel() }, "cancelled: Cancelled because job is stopped"},
		"marked as failed": {10 * time.Minute, func(d *Deployment) { _ = d.Fail() }, "failed: Deployment marked as failed"},
		"made healthy after all": {10 * time.Minute, func(d *Deployment) {
			d.Report("g", "1", Unhealthy, true, begin)
			d.Report("g", "1", Healthy, false, begin)
			d.Report("g", "2", Healthy, false, begin)
		}, "successful: Deployment completed successfully"},
		"good canaries have time": {10 * time.Minute, func(d *Deployment) {
			d.SetCanaries("g", 1)
			d.Report("g", "1", Healthy, false, begin)
			d.Tick(begin.Add(time.Hour))
		}, "running: Deployment is running but requires manual promotion"},
		"others have not": {10 * time.Minute, func(d *Deployment) {
			d.SetCanaries("g", 1)
			d.Tick(begin.Add(10 * time.Minute))
		}, "failed: Failed due to progress deadline"},
		"another version": {10 * time.Minute, func(d *Deployment) { d.Supersede() }, "cancelled: Cancelled due to newer version of job"},
		"nothing follows": {10 * time.Minute, func(d *Deployment) {
			d.Cancel()
			d.Report("g", "10", Unhealthy, false, begin)
			d.Tick(begin.Add(time.Hour))
		}, "cancelled: Cancelled because job is stopped"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := NewDeployment(job(tt.progress), begin)
			tt.steps(d)
			if got := d.Status + ": " + d.Description; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestJobsWithoutDeployment(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*api.Job){
		"batch": func(j *api.Job) { j.Type = new("batch") },
		"none":  func(j *api.Job) { j.TaskGroups[0].Update = &api.UpdateStrategy{MaxParallel: new(0)} },
		"empty": func(j *api.Job) { j.TaskGroups[0].Count = new(0) },
	} {
		g := api.NewTaskGroup("g", 1)
		g.Tasks = []*api.Task{api.NewTask("t", "raw_exec")}
		j := &api.Job{ID: new("job"), Type: new("service"), TaskGroups: []*api.TaskGroup{g}}
		change(j)
		j.Canonicalize()
		if d := NewDeployment(j, time.Now()); d != nil {
			t.Errorf("%s: got a deployment", name)
		}
	}
}

func TestOrdersAfterTheEnd(t *testing.T) {
	t.Parallel()
	d := &Deployment{Status: DeploymentSuccessful}
	for want, err := range map[string]error{
		"can't promote terminal deployment":                         d.Promote(nil, time.Now()),
		"can't pause terminal deployment":                           d.Pause(true, time.Now()),
		"can't resume terminal deployment":                          d.Pause(false, time.Now()),
		"can't fail terminal deployment":                            d.Fail(),
		"can't set health of allocations for a terminal deployment": d.CheckSetHealth(),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
