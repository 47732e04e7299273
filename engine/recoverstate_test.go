package engine_test

import (
	"context"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine"
	"taskrun/engine/fold"
)

// known is the state that must be the same in an engine that continues a run.
type known struct {
	Allocs      map[string][]any // by ID
	Deployments []fold.Deployment
	Evaluations []fold.Evaluation
	Version     fold.Version
	Indexes     map[fold.Topic]uint64
}

func knownOf(e *engine.Engine) (k known) {
	k.Allocs, k.Indexes = map[string][]any{}, map[fold.Topic]uint64{}
	topics := []fold.Topic{
		{Table: fold.Jobs},
		{Table: fold.Jobs, Key: "job"},
		{Table: fold.Allocations},
		{Table: fold.AllocationsOfJob, Key: "job"},
		{Table: fold.ScaleOfJob, Key: "job"},
		{Table: fold.Deployments},
		{Table: fold.DeploymentsOfJob, Key: "job"},
		{Table: fold.Evaluations},
		{Table: fold.EvaluationsOfJob, Key: "job"},
	}
	e.State().Look(func(run *fold.Run) {
		for _, a := range run.Allocs {
			next := ""
			if a.Replacement != nil {
				next = a.Replacement.ID
			}
			k.Allocs[a.ID] = []any{a.Created, a.Modified, a.Evaluation, a.Awaits(), a.Status, next}
			topics = append(topics, fold.Topic{Table: fold.Allocations, Key: a.ID})
		}
		for _, d := range run.Deployments {
			d := *d
			d.Changed = d.Changed.UTC().Round(0)
			k.Deployments = append(k.Deployments, d)
		}
		for _, v := range run.Evaluations {
			v := *v
			v.Time = v.Time.UTC().Round(0)
			k.Evaluations = append(k.Evaluations, v)
		}
		k.Version = *run.Version("job", 0)
	})
	for _, t := range topics {
		k.Indexes[t] = e.State().Index(t)
	}
	return k
}

// continued lets an engine leave its only run to another one, which it returns. The
// end of the test kills the run.
func continued(t *testing.T, first *engine.Engine, world *machine, dataDir string) *engine.Engine {
	t.Helper()
	run := first.Runs()[0]
	run.Lock.Close()
	first.Leave()
	<-first.Done()
	second := durable(world, dataDir)
	t.Cleanup(func() {
		second.Kill()
		<-second.Done()
		for _, e := range []*engine.Engine{first, second} {
			if err := e.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}
	})
	if err := second.Recover(engine.Run{Dir: run.Dir}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return second
}

// TestRecoveredEngineHasTheSameState compares the state and the indexes of an
// engine with those of the one that continues its run.
func TestRecoveredEngineHasTheSameState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		world, dataDir := newMachine(), t.TempDir()
		job := newJob("service", newTask("t", "run_for", "40s", "exit_code", 1))
		job.TaskGroups[0].RestartPolicy = &api.RestartPolicy{Attempts: new(0), Mode: new("fail")}
		job.TaskGroups[0].ReschedulePolicy = &api.ReschedulePolicy{
			Delay: new(30 * time.Second), DelayFunction: new("constant"), Unlimited: new(true),
		}
		job.Canonicalize()
		first := durable(world, dataDir)
		if err := first.Submit(job); err != nil {
			t.Fatal(err)
		}
		<-time.After(100 * time.Second)
		second := continued(t, first, world, dataDir)
		before := knownOf(first)
		if len(before.Allocs) != 2 || len(before.Evaluations) == 0 || before.Version.Evaluation == "" {
			t.Fatalf("nothing is known: %+v", before)
		}
		if diff := cmp.Diff(before, knownOf(second)); diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
	})
}

// An allocation that had ended before its slot moved to another version keeps what it
// had, in the engine that continues the run as well.
func TestRecoveredAllocationsKeepTheirVersions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		world, dataDir := newMachine(), t.TempDir()
		version := func(priority int) *api.Job {
			job := newJob("service", newTask("t", "run_for", "1h"))
			job.TaskGroups = append(job.TaskGroups, newJob("service", newTask("fails", "run_for", "1s", "exit_code", 1)).TaskGroups[0])
			failing := job.TaskGroups[1]
			failing.Name = new("failing")
			failing.RestartPolicy = &api.RestartPolicy{Attempts: new(0), Mode: new("fail")}
			failing.ReschedulePolicy = &api.ReschedulePolicy{Attempts: new(0), Unlimited: new(false)}
			job.Priority = &priority // it changes nothing of an allocation
			job.Canonicalize()
			return job
		}
		first := durable(world, dataDir)
		if err := first.Submit(version(50)); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		versions := func(e *engine.Engine) map[string]uint64 {
			of := map[string]uint64{}
			for _, a := range e.Allocs() {
				of[a.Group] = *a.Job.Version
			}
			return of
		}
		for priority := range 2 {
			if _, err := first.Register(engine.Registration{Job: version(51 + priority)}); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Minute)
		}
		want := map[string]uint64{"g": 2, "failing": 0}
		if got := versions(first); !maps.Equal(got, want) {
			t.Errorf("before the recovery: %v, want %v", got, want)
		}
		second := continued(t, first, world, dataDir)
		if got := versions(second); !maps.Equal(got, want) {
			t.Errorf("after it: %v, want %v", got, want)
		}
	})
}

// A query waits until its topic changes, but not longer than its limit.
func TestAwait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := durable(newMachine(), t.TempDir())
		began, topic := time.Now(), fold.Topic{Table: fold.Jobs, Key: "job"}
		if index := e.State().Wait(t.Context(), topic, fold.FirstIndex, time.Minute); index != fold.FirstIndex || time.Since(began) != time.Minute {
			t.Errorf("index %d after %v", index, time.Since(began))
		}
		if e.State().Wait(t.Context(), topic, 1<<40, time.Minute); time.Since(began) != time.Minute {
			t.Error("it waited for an index of an earlier engine")
		}
		woken := make(chan uint64)
		go func() { woken <- e.State().Wait(t.Context(), topic, fold.FirstIndex, time.Hour) }()
		synctest.Wait()
		job := newJob("batch", newTask("t", "run_for", "1s"))
		job.Canonicalize()
		if err := e.Submit(job); err != nil {
			t.Fatal(err)
		}
		if index := <-woken; index <= fold.FirstIndex || time.Since(began) != time.Minute {
			t.Errorf("index %d after %v", index, time.Since(began))
		}
		<-e.Done()
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
