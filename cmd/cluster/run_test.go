package cluster

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/engine/leaf/event"
)

func job(typ string) *api.Job {
	return &api.Job{
		ID: new("web"), Type: &typ, Version: new(uint64(3)), Status: new("running"),
		TaskGroups: []*api.TaskGroup{{Name: new("g"), ReschedulePolicy: &api.ReschedulePolicy{Unlimited: new(true)}}},
	}
}

// with returns a job with another status.
func with(status string) *api.Job { return &api.Job{ID: new("web"), Status: &status} }

func stubs(all ...*api.AllocationListStub) []*api.AllocationListStub { return all }

func evals(all ...*api.Evaluation) []*api.Evaluation { return all }

func deployment(status, description string) *api.Deployment {
	return &api.Deployment{ID: "d", JobVersion: 3, Status: status, StatusDescription: description}
}

// A service is followed from its registration to its end: placements, tasks,
// output, health and deployment, and an allocation that is replaced.
func TestFollowAService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFakeCluster()
		full := &api.Evaluation{ID: "e", JobID: "web", Status: "complete", FailedTGAllocs: map[string]*api.AllocationMetric{"g": {}}}
		w.set(map[string]any{"job/web": with("dead"), "job/web/allocations": stubs(), "job/web/evaluations": evals(&api.Evaluation{ID: "e", Status: "pending"})})
		r := watch(t, New([]Job{{Job: job("service"), Server: w.server(t), EvalID: "e"}}))
		const started, terminated = "Received@100, Started@102", "Received@100, Started@102, Terminated:1@110"
		one, other := stub("1", "pending", 100, nil), stub("2", "pending", 120, nil)
		healthy := stub("1", "running", 100, map[string]*api.TaskState{"t": state("running", started)})
		healthy.DeploymentStatus = &api.AllocDeploymentStatus{Healthy: new(true)}
		failed := stub("1", "failed", 100, map[string]*api.TaskState{"t": state("dead", terminated)})
		replaced := stub("1", "failed", 100, failed.TaskStates)
		replaced.NextAllocation = "2"
		after, done := &api.Evaluation{ID: "r", Status: "pending", CreateIndex: 150}, &api.Evaluation{ID: "r", Status: "complete", CreateIndex: 150}
		for _, step := range []struct {
			name    string
			answers map[string]any
			output  string // of allocation 1
			want    []string
		}{
			{"the registration is evaluated", nil, "", nil},
			{"there is no place", map[string]any{"job/web": with("pending"), "job/web/evaluations": evals(full)}, "", []string{`notice: job web: group "g": 1 allocation is not placed: no node was eligible`}},
			{"that is said once", map[string]any{"job/web/evaluations": evals(full, full)}, "", nil},
			{"it is placed", map[string]any{"job/web/allocations": stubs(one), "job/web/deployment": deployment("running", "Deployment is running")}, "", []string{"100 1 pending", "deployment d of web: running, Deployment is running"}},
			{"it starts", map[string]any{"job/web": with("running"), "job/web/allocations": stubs(stub("1", "running", 100, healthy.TaskStates))}, "", []string{"100 1/t Received", "102 1/t Started", "102 1/t is running", "150 1 running"}},
			{"it writes", nil, "hello\n", []string{`1/t stdout "hello\n"`}},
			{"it is healthy", map[string]any{"job/web/allocations": stubs(healthy), "job/web/deployment": deployment("running", "waits to be promoted")}, "", []string{"150 1 healthy true", "notice: job web: waits to be promoted"}},
			{"it writes more", nil, "more\n", []string{`1/t stdout "more\n"`}},
			{"nothing new", map[string]any{"job/web/deployment": deployment("successful", "done")}, "", []string{"deployment d of web: successful, done"}},
			{"it fails, and is evaluated", map[string]any{"job/web/allocations": stubs(failed), "job/web/evaluations": evals(full, after)}, "", []string{"110 1/t Terminated", "110 1/t is dead, code 1"}},
			{"it is replaced", map[string]any{"job/web/allocations": stubs(replaced, other), "job/web/evaluations": evals(full, done)}, "", []string{"120 2 pending in place of 1", "150 1 failed, again in 0s"}},
			{"it is dead, but an allocation is not", map[string]any{"job/web": with("dead")}, "", nil},
			{"all have ended", map[string]any{"job/web/allocations": stubs(replaced, stub("2", "complete", 120, nil))}, "", []string{"170 2 complete in place of 1"}},
		} {
			if err, ended := r.end(); ended {
				t.Fatalf("%s: it has ended, %v", step.name, err)
			}
			if step.output != "" {
				w.write("1/t.stdout", step.output)
			} else {
				w.set(step.answers)
			}
			got := r.lines(t)
			slices.Sort(got)
			if diff := cmp.Diff(step.want, got); diff != "" {
				t.Errorf("%s: %s", step.name, diff)
			}
		}
		if err, ended := r.end(); !ended || err != nil {
			t.Errorf("ended %t, %v", ended, err)
		}
	})
}

// The last output of a task comes before its end, even if the task was not
// followed; nothing is read without a subscription to output.
func TestOutputComesBeforeTheEnd(t *testing.T) {
	t.Parallel()
	for _, silent := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newFakeCluster()
			w.set(map[string]any{"job/web": with("running"), "job/web/allocations": stubs(), "job/web/evaluations": evals()})
			r := New([]Job{{Job: job("batch"), Server: w.server(t)}})
			r.Silent = silent
			followed := watch(t, r)
			w.outputs["1/t.stdout"], w.outputs["1/t.stderr"] = "out", "err"
			states := map[string]*api.TaskState{"t": state("dead", "Started@102, Terminated:0@103")}
			w.set(map[string]any{"job/web": with("dead"), "job/web/allocations": stubs(stub("1", "complete", 100, states))})
			got := followed.lines(t)
			want := []string{"100 1 pending", "102 1/t Started", "102 1/t is running", `1/t stderr "err"`, `1/t stdout "out"`, "103 1/t Terminated", "103 1/t is dead, code 0", "150 1 complete"}
			if silent {
				want = slices.DeleteFunc(want, func(line string) bool { return strings.Contains(line, "std") })
			} else if len(got) > 4 && got[3] > got[4] {
				got[3], got[4] = got[4], got[3] // two streams in any order
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("silent %t: %s", silent, diff)
			}
			if asked := slices.Contains(w.asked, "/v1/client/fs/logs/1"); asked == silent {
				t.Errorf("silent %t: output is asked for: %t", silent, asked)
			}
			if slices.Contains(w.asked, "/v1/job/web/deployment") {
				t.Error("a batch job is asked for its deployment")
			}
			if err, ended := followed.end(); !ended || err != nil {
				t.Errorf("ended %t, %v", ended, err)
			}
		})
	}
}

// The past is returned at once, sorted by time and without what had ended
// before; then new events follow, and only new output.
func TestPast(t *testing.T) {
	t.Parallel()
	for _, silent := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newFakeCluster()
			w.outputs["1/a.stdout"] = "old"
			ofOne := map[string]*api.TaskState{"a": state("running", "Started@103"), "b": state("running", "Started@101"), "c": state("dead", "Started@104, Terminated:0@105")}
			noPlace := evals(&api.Evaluation{ID: "e", JobID: "web", FailedTGAllocs: map[string]*api.AllocationMetric{"g": {}}})
			all := stubs(stub("2", "pending", 102, nil), stub("1", "running", 100, ofOne), stub("0", "complete", 90, nil))
			rollout := deployment("running", "so it is")
			rollout.ModifyTime = second(120).UnixNano()
			w.set(map[string]any{"job/web": with("running"), "job/web/allocations": all, "job/web/evaluations": noPlace, "job/web/deployment": rollout})
			j := Job{Job: job("service"), Server: w.server(t), Over: map[string]bool{}}
			w.answers["/v1/job/web/allocations"] = all[2:]
			if err := j.LeaveOutEnded(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.answers["/v1/job/web/allocations"] = all
			r := New([]Job{j})
			r.Silent = silent
			past, err := r.Past(t.Context())
			var got []string
			for _, e := range past {
				got = append(got, line(e))
			}
			want := []string{
				"100 1 pending", "101 1/b Started", "101 1/b is running", "102 2 pending", "103 1/a Started", "103 1/a is running",
				"104 1/c Started", "104 1/c is running", "105 1/c Terminated", "105 1/c is dead, code 0",
				"deployment d of web: running, so it is", "150 1 running",
			}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("past %v: %s", err, diff)
			}
			followed := watch(t, r)
			if got := followed.lines(t); got != nil {
				t.Errorf("published %q of the past", got)
			}
			w.write("1/a.stdout", "new")
			w.write("1/c.stdout", "from the dead")
			want = []string{`1/a stdout "new"`}
			if silent {
				want = nil
			}
			if diff := cmp.Diff(want, followed.lines(t)); diff != "" {
				t.Errorf("silent %t: %s", silent, diff)
			}
			w.set(map[string]any{"job/web": nil, "job/web/allocations": stubs(stub("2", "lost", 102, nil), stub("1", "complete", 100, nil))})
			if got := followed.lines(t); !slices.Equal(got, []string{"150 1 complete", "152 2 lost"}) {
				t.Errorf("at the end: %q", got)
			}
			if err, ended := followed.end(); !ended || err != nil {
				t.Errorf("of a job that was purged: ended %t, %v", ended, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		w := newFakeCluster()
		if _, err := New([]Job{{Job: job("batch"), Server: w.server(t)}}).Past(t.Context()); !client.Missing(err) {
			t.Errorf("of a job that has no allocations: %v", err)
		}
	})
}

// A screen, which has no use for output, sees each change of a deployment.
func TestDeploymentOnAScreen(t *testing.T) {
	t.Parallel()
	for _, silent := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newFakeCluster()
			w.set(map[string]any{
				"job/web": with("running"), "job/web/allocations": stubs(), "job/web/evaluations": evals(), "job/web/deployment": deployment("running", "it waits"),
			})
			run := New([]Job{{Job: job("service"), Server: w.server(t)}})
			run.Silent = silent
			r := watch(t, run)
			r.lines(t)
			grown := deployment("running", "it waits")
			grown.ModifyIndex = 7
			w.set(map[string]any{"job/web/deployment": grown})
			w.set(nil)
			promoted := deployment("running", "it goes on")
			promoted.ModifyIndex = 8
			w.set(map[string]any{"job/web/deployment": promoted})
			want := []string{"notice: job web: it goes on"}
			if silent {
				want = []string{"deployment d of web: running, it waits", "deployment d of web: running, it goes on", want[0]}
			}
			if diff := cmp.Diff(want, r.lines(t)); diff != "" {
				t.Errorf("silent %t: %s", silent, diff)
			}
		})
	}
}

// Children of a job are followed as they appear, each one as a job of its own,
// except those that had ended before.
func TestFollowLaunchedJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFakeCluster()
		parent := job("batch")
		parent.ParameterizedJob = &api.ParameterizedJobConfig{}
		const old, now, lost = "web/dispatch-1", "web/dispatch-2", "web/dispatch-3"
		children := []*api.JobListStub{{ID: old, ParentID: "web", Status: "dead"}}
		w.set(map[string]any{"job/web": with("running"), "job/web/allocations": stubs(), "job/web/evaluations": evals(), "jobs": children})
		j := Job{Job: parent, Server: w.server(t), Over: map[string]bool{}}
		if err := j.LeaveOutEnded(t.Context()); err != nil || !j.Over[old] {
			t.Fatalf("left out %v, %v", j.Over, err)
		}
		r := watch(t, New([]Job{j}))
		child := job("batch")
		child.ID = new(now)
		alloc := stub("1", "running", 100, nil)
		alloc.JobID = now
		children = append(children, &api.JobListStub{ID: now, ParentID: "web", Status: "running"}, &api.JobListStub{ID: lost, ParentID: "web"})
		w.set(map[string]any{"jobs": children, "job/" + now: child, "job/" + now + "/allocations": stubs(alloc), "job/" + now + "/evaluations": evals()})
		if got := r.lines(t); !slices.Equal(got, []string{"100 web:1 pending", "150 web:1 running"}) {
			t.Errorf("the child: %q", got)
		}
		w.set(map[string]any{"job/web": with("dead")})
		if _, ended := r.end(); ended {
			t.Error("it has ended before the child")
		}
		ended := *alloc
		ended.ClientStatus = "complete"
		dead := *child
		dead.Status = new("dead")
		w.set(map[string]any{"job/" + now: &dead, "job/" + now + "/allocations": stubs(&ended)})
		if got := r.lines(t); !slices.Equal(got, []string{"150 web:1 complete"}) {
			t.Errorf("the child: %q", got)
		}
		if err, ended := r.end(); !ended || err != nil {
			t.Errorf("ended %t, %v", ended, err)
		}
		if slices.Contains(w.asked, "/v1/job/"+old) || !slices.Contains(w.asked, "/v1/job/"+lost) {
			t.Errorf("asked %q", w.asked)
		}
	})
}

// A job that is registered again is not over because of its former state.
func TestRegistered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFakeCluster()
		w.set(map[string]any{"job/web": with("dead"), "job/web/allocations": stubs(stub("1", "complete", 100, nil)), "job/web/evaluations": evals()})
		before := Job{Job: job("batch"), Server: w.server(t)}
		r := New([]Job{before})
		if past, err := r.Past(t.Context()); len(past) != 2 || err != nil {
			t.Fatalf("past %v, %v", past, err)
		}
		after := before
		after.EvalID = "e"
		r.Registered(Job{Job: &api.Job{ID: new("another")}})
		r.Registered(after)
		if now := r.jobs[0].snapshot(); now.status != "" || r.jobs[0].EvalID != "e" {
			t.Errorf("it is %+v", now)
		}
		followed := watch(t, r)
		if _, ended := followed.end(); ended {
			t.Error("it is over before its evaluation is known")
		}
		w.set(map[string]any{"job/web/evaluations": evals(&api.Evaluation{ID: "e", Status: "complete"})})
		if err, ended := followed.end(); !ended || err != nil {
			t.Errorf("ended %t, %v", ended, err)
		}
	})
}

// Following ends with the context, and with an error for which a retry is
// useless.
func TestFollowingEnds(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"job/web", "job/web/allocations", "job/web/evaluations", "job/web/deployment", "jobs"} {
		synctest.Test(t, func(t *testing.T) {
			w := newFakeCluster()
			j := job("service")
			j.Periodic = &api.PeriodicConfig{}
			w.set(map[string]any{"job/web": with("running"), "job/web/allocations": stubs(), "job/web/evaluations": evals(), "jobs": []*api.JobListStub{}})
			r := watch(t, New([]Job{{Job: j, Server: w.server(t)}}))
			w.refused["/v1/"+path] = http.StatusForbidden
			w.set(nil)
			var refused *client.RefusedError
			if err, ended := r.end(); !ended || !errors.As(err, &refused) || refused.Code != http.StatusForbidden {
				t.Errorf("%s is refused: ended %t, %v", path, ended, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		w := newFakeCluster()
		w.set(map[string]any{"job/web": with("running"), "job/web/allocations": stubs(stub("1", "running", 100, map[string]*api.TaskState{"t": state("running", "Started@1")})), "job/web/evaluations": evals()})
		enough := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, enough)
		defer cancel()
		r := New([]Job{{Job: job("service"), Server: w.server(t)}})
		sub := r.Subscribe(false)
		if err := r.Follow(ctx); !errors.Is(err, enough) {
			t.Errorf("error %v", err)
		}
		sub.Close()
	})
}

// A failed allocation of a group that is missing in the job counts as one that
// may be replaced, and nothing is decided while evaluations are unknown.
func TestForesee(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		group   string
		evals   any
		code    int // status of queries for evaluations
		now     func(*api.AllocationListStub)
		want    string
		decided bool
	}{
		"it is evaluated":            {"g", evals(&api.Evaluation{Status: "pending", CreateIndex: 150}), 0, nil, "-1ns", false},
		"it is not":                  {"g", evals(&api.Evaluation{Status: "pending", CreateIndex: 149}), 0, nil, "-1ns", true},
		"there is no place":          {"g", evals(&api.Evaluation{Status: "blocked", CreateIndex: 150}), 0, nil, "0s", true},
		"by a group that is unknown": {"other", evals(&api.Evaluation{Status: "blocked", CreateIndex: 150}), 0, nil, "0s", true},
		"evaluations are refused":    {"g", nil, 500, nil, "-1ns", true},
		"it was replaced meanwhile":  {"g", evals(&api.Evaluation{Status: "complete", CreateIndex: 150}), 0, func(s *api.AllocationListStub) { s.NextAllocation = "2" }, "0s", true},
		"it was not, meanwhile":      {"g", evals(&api.Evaluation{Status: "complete", CreateIndex: 150}), 0, func(*api.AllocationListStub) {}, "-1ns", true},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newFakeCluster()
			s := stub("1", "failed", 100, nil)
			s.TaskGroup = tt.group
			now := *s
			if tt.now != nil {
				tt.now(&now)
			}
			if tt.code != 0 {
				w.refused["/v1/job/web/evaluations"] = tt.code
			}
			w.set(map[string]any{"job/web/evaluations": tt.evals, "job/web/allocations": stubs(stub("0", "failed", 90, nil), &now)})
			f := newFollowed(Job{Job: job("service"), Server: w.server(t)}, "")
			f.now.allocs = stubs(s)
			failures := func() (retries []string) {
				for _, c := range f.changes(t.Context()) {
					if status, ok := c.Body.(event.AllocStatus); ok && status.Status == "failed" {
						retries = append(retries, status.Retry.String())
					}
				}
				return retries
			}
			got := failures()
			if want := []string{tt.want}; tt.decided && !slices.Equal(got, want) || !tt.decided && got != nil {
				t.Errorf("%s: published %q, want %q", name, got, want)
			}
			if got := failures(); got != nil {
				t.Errorf("%s: published again: %q", name, got)
			}
		})
	}
}

// While a run is held, none of its events are published.
func TestHold(t *testing.T) {
	t.Parallel()
	r := New(nil)
	sub := r.Subscribe(false)
	r.Hold()
	said := make(chan struct{})
	go func() {
		r.say("hello")
		close(said)
	}()
	select {
	case <-said:
		t.Error("it was published")
	case <-time.After(20 * time.Millisecond):
	}
	r.Resume()
	<-said
	if e, ok := sub.Next(t.Context()); !ok || line(e) != "notice: hello" {
		t.Errorf("%+v", e)
	}
	sub.Close()
}
