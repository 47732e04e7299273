package engine_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
	hookcatalog "taskrun/hooks/catalog"
	"taskrun/jobspec/taskenv"
)

// service returns a version of a service with a number of allocations, which
// differs by a value.
func service(count int, value string, config ...any) *api.Job {
	job := newJob("service", with(newTask("t", append([]any{"run_for", "100h"}, config...)...), func(t *api.Task) {
		t.Env = map[string]string{"VALUE": value}
	}))
	job.TaskGroups[0].Count = &count
	job.TaskGroups[0].Update = &api.UpdateStrategy{}
	return job
}

func altered(job *api.Job, change func(j *api.Job, u *api.UpdateStrategy)) *api.Job {
	change(job, job.TaskGroups[0].Update)
	return job
}

// become makes a job the newest version.
func become(t *testing.T, job *api.Job) func(*engine.Engine) {
	job.Canonicalize()
	return func(e *engine.Engine) {
		if _, err := e.Register(engine.Registration{Job: job}); err != nil {
			t.Error(err)
		}
	}
}

// watched is the list of events of a job's allocations and deployments: "time
// event".
func watched(t *testing.T, job *api.Job, actions map[time.Duration]func(*engine.Engine)) (seen []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		job.Canonicalize()
		e := engine.New(engine.Config{
			DataDir: t.TempDir(), Drivers: map[string]drivers.Driver{"mock_driver": mock.New()},
			Hooks: hookcatalog.New(hookcatalog.Options{}), Node: &taskenv.Node{},
		})
		sub := e.Subscribe(false)
		start := time.Now()
		if err := e.Submit(job); err != nil {
			t.Fatal(err)
		}
		for after, do := range actions {
			defer time.AfterFunc(after, func() { do(e) }).Stop()
		}
		<-e.Done()
		versions := map[string]uint64{}
		for _, a := range e.Allocs() {
			versions[a.ID] = *a.Job.Version
		}
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
		for {
			ev, ok := sub.Next(context.Background())
			if !ok {
				break
			}
			var what string
			switch b := ev.Body.(type) {
			case event.AllocStatus:
				what = strings.TrimPrefix(ev.Alloc.Name, "job.") + " " + b.Status
				if b.Status == "pending" {
					continue
				}
			case event.Deployment:
				what = b.Status + ": " + b.Description
			default:
				continue
			}
			seen = append(seen, fmt.Sprint(ev.Time.Sub(start), " ", what))
		}
	})
	// Events at the same time have no defined order.
	slices.SortStableFunc(seen, func(a, b string) int {
		at := func(s string) time.Duration {
			text, _, _ := strings.Cut(s, " ")
			d, err := time.ParseDuration(text)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		if d := int(at(a) - at(b)); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return seen
}

func TestRollOut(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	for name, tt := range map[string]struct {
		job     *api.Job
		actions map[time.Duration]func(*engine.Engine)
		want    []string // after the first deployment
	}{
		"one after another": {
			job: service(3, "a"),
			actions: map[time.Duration]func(*engine.Engine){
				hour: become(t, service(3, "b")), 2 * hour: stop,
			},
			want: []string{
				"1h0m0s g[0] complete", "1h0m0s g[0] running", "1h0m0s running: Deployment is running",
				"1h0m10s g[1] complete", "1h0m10s g[1] running",
				"1h0m20s g[2] complete", "1h0m20s g[2] running",
				"1h0m30s successful: Deployment completed successfully",
				"2h0m0s g[0] complete", "2h0m0s g[1] complete", "2h0m0s g[2] complete",
			},
		},
		"in place": {
			job: service(2, "a"),
			actions: map[time.Duration]func(*engine.Engine){
				hour:     become(t, altered(service(2, "a"), func(j *api.Job, _ *api.UpdateStrategy) { j.Priority = new(70) })),
				2 * hour: stop,
			},
			want: []string{
				"1h0m0s running: Deployment is running", "1h0m10s successful: Deployment completed successfully",
				"2h0m0s g[0] complete", "2h0m0s g[1] complete",
			},
		},
		"a bad version goes back": {
			job: service(2, "a"),
			actions: map[time.Duration]func(*engine.Engine){
				hour:     become(t, altered(service(2, "b", "run_for", "3s"), func(_ *api.Job, u *api.UpdateStrategy) { u.AutoRevert = new(true) })),
				2 * hour: stop,
			},
			want: []string{
				"1h0m0s g[0] complete", "1h0m0s g[0] running", "1h0m0s running: Deployment is running",
				"1h0m3s failed: Failed due to unhealthy allocations - rolling back to job version 0",
				"1h0m3s g[0] failed", "1h0m3s g[0] running", "1h0m3s running: Deployment is running",
				"1h0m13s successful: Deployment completed successfully",
				"2h0m0s g[0] complete", "2h0m0s g[1] complete",
			},
		},
		"a bad version stays": {
			job:     service(2, "a"),
			actions: map[time.Duration]func(*engine.Engine){hour: become(t, service(2, "b", "run_for", "3s")), 2 * hour: stop},
			want: []string{
				"1h0m0s g[0] complete", "1h0m0s g[0] running", "1h0m0s running: Deployment is running",
				"1h0m3s failed: Failed due to unhealthy allocations", "1h0m3s g[0] failed",
				"2h0m0s g[1] complete",
			},
		},
		"nothing to go back to": {
			job: altered(service(1, "a", "run_for", "3s"), func(_ *api.Job, u *api.UpdateStrategy) { u.AutoRevert = new(true) }),
			want: []string{
				"0s running: Deployment is running", "0s g[0] running",
				"3s failed: Failed due to unhealthy allocations - no stable job version to auto revert to", "3s g[0] failed",
			},
		},
		"a canary that is promoted": {
			job: service(2, "a"),
			actions: map[time.Duration]func(*engine.Engine){
				hour: become(t, altered(service(2, "b"), func(_ *api.Job, u *api.UpdateStrategy) { u.Canary = new(1) })),
				hour + time.Minute: func(e *engine.Engine) {
					d := e.Handle("job").Deployments()[1]
					if g := d.Groups["g"]; g.Placed != 1 || len(g.PlacedCanaries) != 1 || len(g.Healthy) != 1 || g.Promoted {
						t.Errorf("before the promotion: %+v", g)
					}
					if err := e.Deployment(d.ID).Promote(nil); err != nil {
						t.Error(err)
					}
				},
				2 * hour: stop,
			},
			want: []string{
				"1h0m0s g[0] running", "1h0m0s running: Deployment is running but requires manual promotion",
				"1h1m0s g[0] complete", "1h1m0s g[1] complete", "1h1m0s g[1] running", "1h1m0s running: Deployment is running",
				"1h1m10s successful: Deployment completed successfully",
				"2h0m0s g[0] complete", "2h0m0s g[1] complete",
			},
		},
		"a canary that fails": {
			job: service(2, "a"),
			actions: map[time.Duration]func(*engine.Engine){
				hour: become(t, altered(service(2, "b", "run_for", "3s"), func(_ *api.Job, u *api.UpdateStrategy) {
					u.Canary, u.AutoPromote, u.AutoRevert = new(1), new(true), new(true)
				})),
				2 * hour: stop,
			},
			want: []string{
				"1h0m0s g[0] running", "1h0m0s running: Deployment is running pending automatic promotion",
				"1h0m3s failed: Failed due to unhealthy allocations - rolling back to job version 0", "1h0m3s g[0] failed",
				"1h0m3s running: Deployment is running",
				"1h0m13s successful: Deployment completed successfully",
				"2h0m0s g[0] complete", "2h0m0s g[1] complete",
			},
		},
		"going back needs no canaries": {
			job: altered(service(2, "a"), func(_ *api.Job, u *api.UpdateStrategy) { u.Canary, u.AutoRevert = new(1), new(true) }),
			actions: map[time.Duration]func(*engine.Engine){
				hour:     become(t, altered(service(2, "b", "run_for", "3s"), func(_ *api.Job, u *api.UpdateStrategy) { u.AutoRevert = new(true) })),
				2 * hour: stop,
			},
			want: []string{
				"1h0m0s g[0] complete", "1h0m0s g[0] running", "1h0m0s running: Deployment is running",
				"1h0m3s failed: Failed due to unhealthy allocations - rolling back to job version 0",
				"1h0m3s g[0] failed", "1h0m3s g[0] running", "1h0m3s running: Deployment is running",
				"1h0m13s successful: Deployment completed successfully",
				"2h0m0s g[0] complete", "2h0m0s g[1] complete",
			},
		},
		"paused": {
			job: service(2, "a"),
			actions: map[time.Duration]func(*engine.Engine){
				hour:                  become(t, service(2, "b")),
				hour + time.Second:    func(e *engine.Engine) { pause(t, e, true) },
				hour + 30*time.Minute: func(e *engine.Engine) { pause(t, e, false) },
				2 * hour:              stop,
			},
			want: []string{
				"1h0m0s g[0] complete", "1h0m0s g[0] running", "1h0m0s running: Deployment is running",
				"1h0m1s paused: Deployment is paused",
				"1h30m0s g[1] complete", "1h30m0s g[1] running", "1h30m0s running: Deployment is running",
				"1h30m10s successful: Deployment completed successfully",
				"2h0m0s g[0] complete", "2h0m0s g[1] complete",
			},
		},
		"failed by somebody": {
			job: service(2, "a"),
			actions: map[time.Duration]func(*engine.Engine){
				hour: become(t, service(2, "b")),
				hour + time.Second: func(e *engine.Engine) {
					if err := e.Deployment(e.Handle("job").Deployments()[1].ID).Fail(); err != nil {
						t.Error(err)
					}
				},
				2 * hour: stop,
			},
			want: []string{
				"1h0m0s g[0] complete", "1h0m0s g[0] running", "1h0m0s running: Deployment is running",
				"1h0m1s failed: Deployment marked as failed",
				"2h0m0s g[0] complete", "2h0m0s g[1] complete",
			},
		},
		"health by hand": {
			job: service(2, "a"),
			actions: map[time.Duration]func(*engine.Engine){
				hour:                 become(t, altered(service(2, "b"), func(_ *api.Job, u *api.UpdateStrategy) { u.HealthCheck = new("manual") })),
				hour + time.Minute:   func(e *engine.Engine) { judge(t, e, "job.g[0]", true) },
				hour + 2*time.Minute: func(e *engine.Engine) { judge(t, e, "job.g[1]", false) },
				2 * hour:             stop,
			},
			want: []string{
				"1h0m0s g[0] complete", "1h0m0s g[0] running", "1h0m0s running: Deployment is running",
				"1h1m0s g[1] complete", "1h1m0s g[1] running",
				"1h2m0s failed: Failed due to unhealthy allocations",
				"2h0m0s g[0] complete", "2h0m0s g[1] complete",
			},
		},
		"stopped on the way": {
			job:     service(3, "a"),
			actions: map[time.Duration]func(*engine.Engine){hour: become(t, service(3, "b")), hour + 5*time.Second: stop},
			want: []string{
				"1h0m0s g[0] complete", "1h0m0s g[0] running", "1h0m0s running: Deployment is running",
				"1h0m5s cancelled: Cancelled because job is stopped", "1h0m5s g[0] complete", "1h0m5s g[1] complete", "1h0m5s g[2] complete",
			},
		},
		"another version on the way": {
			job: service(2, "a"),
			actions: map[time.Duration]func(*engine.Engine){
				hour: become(t, service(2, "b")), hour + 5*time.Second: become(t, service(2, "c")), 2 * hour: stop,
			},
			want: []string{
				"1h0m0s g[0] complete", "1h0m0s g[0] running", "1h0m0s running: Deployment is running",
				"1h0m5s cancelled: Cancelled due to newer version of job", "1h0m5s g[0] complete", "1h0m5s g[0] running", "1h0m5s running: Deployment is running",
				"1h0m15s g[1] complete", "1h0m15s g[1] running", "1h0m25s successful: Deployment completed successfully",
				"2h0m0s g[0] complete", "2h0m0s g[1] complete",
			},
		},
		"scaled": {
			job: service(1, "a"),
			actions: map[time.Duration]func(*engine.Engine){
				hour:                 func(e *engine.Engine) { scale(t, e, 3) },
				hour + time.Minute:   func(e *engine.Engine) { scale(t, e, 0) },
				hour + 2*time.Minute: func(e *engine.Engine) { scale(t, e, 2) },
				2 * hour:             stop,
			},
			want: []string{
				"1h0m0s g[1] running", "1h0m0s g[2] running", "1h0m0s running: Deployment is running", "1h0m10s successful: Deployment completed successfully",
				"1h1m0s g[0] complete", "1h1m0s g[1] complete", "1h1m0s g[2] complete",
				"1h2m0s g[0] running", "1h2m0s g[1] running", "1h2m0s running: Deployment is running", "1h2m10s successful: Deployment completed successfully",
				"2h0m0s g[0] complete", "2h0m0s g[1] complete",
			},
		},
		"a system job that is scaled": {
			job: altered(service(1, "a"), func(j *api.Job, _ *api.UpdateStrategy) { j.Type = new("system") }),
			actions: map[time.Duration]func(*engine.Engine){
				hour:               func(e *engine.Engine) { scale(t, e, 0) },
				hour + time.Minute: func(e *engine.Engine) { scale(t, e, 1) },
				2 * hour:           stop,
			},
			want: []string{
				"1h0m0s g[0] complete",
				"1h1m0s g[0] running", "1h1m0s running: Deployment is running", "1h1m10s successful: Deployment completed successfully",
				"2h0m0s g[0] complete",
			},
		},
		"what waits for its replacement is replaced at once": {
			job: func() *api.Job {
				job := service(1, "a", "run_for", "3s")
				job.TaskGroups[0].ReschedulePolicy = &api.ReschedulePolicy{Delay: new(time.Hour), Unlimited: new(true)}
				return job
			}(),
			actions: map[time.Duration]func(*engine.Engine){time.Minute: become(t, service(1, "b")), hour: stop},
			want: []string{
				"0s g[0] running", "0s running: Deployment is running", "3s g[0] failed",
				"1m0s cancelled: Cancelled due to newer version of job", "1m0s g[0] running", "1m0s running: Deployment is running",
				"1m10s successful: Deployment completed successfully", "1h0m0s g[0] complete",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := watched(t, tt.job, tt.actions)
			if i := slices.Index(seen, "10s successful: Deployment completed successfully"); i >= 0 {
				seen = seen[i+1:]
			}
			slices.Sort(tt.want)
			slices.Sort(seen)
			if diff := cmp.Diff(tt.want, seen); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func pause(t *testing.T, e *engine.Engine, pause bool) {
	d := e.Handle("job").Deployments()
	if err := e.Deployment(d[len(d)-1].ID).Pause(pause); err != nil {
		t.Error(err)
	}
}

func scale(t *testing.T, e *engine.Engine, count int64) {
	if _, err := e.Handle("job").Scale(engine.Scaling{Group: "g", Count: &count}); err != nil {
		t.Error(err)
	}
}

// judge tells the deployment whether the newest allocation with a name is
// healthy.
func judge(t *testing.T, e *engine.Engine, name string, healthy bool) {
	d := e.Handle("job").Deployments()
	var id string
	for _, a := range e.Allocs() {
		if a.Name == name {
			id = a.ID
		}
	}
	good, bad := []string{id}, []string(nil)
	if !healthy {
		good, bad = bad, good
	}
	if err := e.Deployment(d[len(d)-1].ID).SetHealth(good, bad); err != nil {
		t.Error(err)
	}
}

// A version gets its static ports before it becomes the newest, or it is
// refused.
func TestStaticPortsOfVersions(t *testing.T) {
	t.Parallel()
	one, two, three := freePort(t), freePort(t), freePort(t)
	synctest.Test(t, func(t *testing.T) {
		of := func(id string, port, canary int) *api.Job {
			job := service(1, fmt.Sprint(port))
			job.ID = &id
			job.TaskGroups[0].Networks = []*api.NetworkResource{{ReservedPorts: []api.Port{{Label: "http", Value: port}}}}
			job.TaskGroups[0].Update.Canary = &canary
			job.Canonicalize()
			return job
		}
		e := engine.New(engine.Config{
			DataDir: t.TempDir(), PortDir: t.TempDir(), Drivers: map[string]drivers.Driver{"mock_driver": mock.New()},
			Hooks: hookcatalog.New(hookcatalog.Options{}), Node: &taskenv.Node{},
		})
		if err := e.Submit(of("a", one, 0), of("b", two, 0)); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			job  *api.Job
			want string // of the error
		}{
			{of("a", two, 0), fmt.Sprint(two, " is in use by")},
			{of("a", three, 1), fmt.Sprint("a canary cannot have static port ", three)},
			{altered(of("a", three, 0), func(j *api.Job, _ *api.UpdateStrategy) { j.TaskGroups[0].Count = new(2) }), fmt.Sprint(three, " is in use by")},
			{of("b", one, 0), fmt.Sprint(one, " is in use by")},
			{of("a", three, 0), ""},
			{of("b", one, 0), ""}, // no slot uses it now
		} {
			<-time.After(time.Minute)
			_, planned := e.Plan(c.job)
			_, err := e.Register(engine.Registration{Job: c.job})
			if fmt.Sprint(planned) != fmt.Sprint(err) {
				t.Errorf("job %s: the plan says %v, the update %v", *c.job.ID, planned, err)
			}
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("job %s: %v, want %q", *c.job.ID, err, c.want)
			}
		}
		<-time.After(time.Minute)
		for _, a := range e.Allocs() {
			if a.Status == "running" && a.Ports[0].Value != map[string]int{"a": three, "b": one}[a.Alloc.Job] {
				t.Errorf("%s has port %d", a.Name, a.Ports[0].Value)
			}
		}
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// freePort returns a port without a listener that no other test will get soon.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// If a job launches others, it launches its newest version.
func TestUpdateOfAPeriodicJob(t *testing.T) {
	t.Parallel()
	periodic := func(spec string) *api.Job {
		job := newJob("batch", newTask("t", "run_for", "1m"))
		job.Periodic = &api.PeriodicConfig{Spec: &spec}
		job.Canonicalize()
		return job
	}
	h := run(t, periodic("0 */6 * * *"), map[time.Duration]func(*engine.Engine){
		7 * time.Hour: func(e *engine.Engine) {
			if _, err := e.Register(engine.Registration{Job: periodic("30 */8 * * *")}); err != nil {
				t.Error(err)
			}
			if _, err := e.Register(engine.Registration{Job: newJob("batch", newTask("t"))}); err == nil {
				t.Error("it is periodic no more")
			}
		},
		24 * time.Hour: stop,
	})
	var got []string
	for _, j := range h.jobs {
		after, _, _ := strings.Cut(j, " ")
		got = append(got, after)
	}
	if diff := cmp.Diff([]string{"6h0m0s", "8h30m0s", "16h30m0s"}, got); diff != "" {
		t.Errorf("launched (-want +got):\n%s", diff)
	}
}

// Six versions are kept, in addition to a stable one.
func TestKeptVersions(t *testing.T) {
	t.Parallel()
	actions := map[time.Duration]func(*engine.Engine){}
	for n := 1; n <= 9; n++ {
		actions[time.Minute+time.Duration(n)*time.Second] = become(t, service(1, fmt.Sprint(n)))
	}
	actions[time.Minute+10*time.Second] = func(e *engine.Engine) {
		versions, err := e.Handle("job").Versions()
		var kept []uint64
		for _, v := range versions {
			kept = append(kept, *v.Version)
		}
		if err != nil || !slices.Equal(kept, []uint64{9, 8, 7, 6, 5, 4, 0}) || !*versions[len(versions)-1].Stable {
			t.Errorf("kept are %v, %v", kept, err)
		}
		if _, err := e.Handle("job").Revert(3, nil); err == nil {
			t.Error("a version that is not kept came back")
		}
		if _, err := e.Handle("job").Revert(0, nil); err != nil {
			t.Error(err)
		}
	}
	actions[time.Hour] = func(e *engine.Engine) {
		if job := e.Jobs()[0]; *job.Version != 10 || job.TaskGroups[0].Tasks[0].Env["VALUE"] != "0" || !*job.Stable {
			t.Errorf("version %d, stable %v, is %v", *job.Version, *job.Stable, job.TaskGroups[0].Tasks[0].Env)
		}
		var known []uint64 // its deployment has ended, and only it has allocations
		e.State().Look(func(run *fold.Run) {
			for n := range uint64(11) {
				if run.Version("job", n) != nil {
					known = append(known, n)
				}
			}
		})
		if want := []uint64{5, 6, 7, 8, 9, 10}; !slices.Equal(known, want) {
			t.Errorf("known are the versions %v, want %v", known, want)
		}
		e.Stop()
	}
	watched(t, service(1, "0"), actions)
}

// The deadline of Nomad's client has a timer of its own: a task that waits for its
// next start, and does nothing until then, is late at the deadline and not when it
// starts.
func TestHealthyDeadlineWhileATaskWaits(t *testing.T) {
	t.Parallel()
	for name, task := range map[string]*api.Task{
		"after a failure":         newTask("t", "run_for", "5s", "exit_code", 1),
		"after a failed start":    newTask("t", "start_error", "no", "start_error_recoverable", true),
		"a start that takes long": newTask("t", "start_block_for", "30m"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := newJob("service", restarts(task, 9, 20*time.Minute))
			job.TaskGroups[0].Update = &api.UpdateStrategy{HealthyDeadline: new(5 * time.Minute), MinHealthyTime: new(10 * time.Second)}
			h := run(t, job, map[time.Duration]func(*engine.Engine){time.Hour: stop})
			want := []string{"0s running: Deployment is running", "5m0s failed: Failed due to unhealthy allocations"}
			if diff := cmp.Diff(want, h.deploy); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if !slices.Contains(h.events["t"], "Alloc Unhealthy: Task not running by healthy_deadline of 5m0s") {
				t.Errorf("the task is told %q", h.events["t"])
			}
		})
	}
}

// When the deployment of a system job fails, an allocation that has failed is
// replaced once, also if some of its tasks are still being stopped.
func TestSystemJobReplacesWhatFailed(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]string{"has ended": "0s", "is being stopped": "3s"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := newJob("system", newTask("a", "run_for", "1s", "exit_code", 1), newTask("b", "run_for", "1h", "kill_after", kill))
			job.TaskGroups[0].ReschedulePolicy = nil
			job.Update = &api.UpdateStrategy{
				MaxParallel: new(1), HealthCheck: new("task_states"), MinHealthyTime: new(time.Minute),
				HealthyDeadline: new(5 * time.Minute), ProgressDeadline: new(10 * time.Minute),
			}
			h := run(t, job, nil)
			starts := 0
			for _, e := range h.events["a"] {
				if e == started {
					starts++
				}
			}
			if starts != 2 || len(h.deploy) == 0 || !strings.Contains(h.deploy[len(h.deploy)-1], "failed") {
				t.Errorf("%d starts of the failing task, want 2: %q, %q", starts, h.events, h.deploy)
			}
		})
	}
}
