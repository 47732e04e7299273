package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/datadir"
	"taskrun/engine/leaf/event"
	hookcatalog "taskrun/hooks/catalog"
	"taskrun/jobspec/taskenv"
)

// resident returns a resident engine on a machine, which has begun.
func resident(t *testing.T, world *machine, dataDir string) *engine.Engine {
	t.Helper()
	if err := os.MkdirAll(dataDir+"/agent", 0o700); err != nil {
		t.Fatal(err)
	}
	e := engine.New(engine.Config{
		DataDir: dataDir, StateDir: dataDir + "/agent", Resident: true,
		Drivers: map[string]drivers.Driver{"mock_driver": &link{machine: world, dead: &atomic.Bool{}, known: map[string]bool{}}},
		Hooks:   hookcatalog.New(hookcatalog.Options{}), Node: &taskenv.Node{},
	})
	if err := e.Recover(); err != nil {
		t.Fatal(err)
	}
	return e
}

// named returns a canonical job with an ID.
func named(id string, job *api.Job) *api.Job {
	job.ID, job.Name = &id, &id
	job.Canonicalize()
	return job
}

func register(t *testing.T, e *engine.Engine, job *api.Job) engine.Registered {
	t.Helper()
	answer, err := e.Register(engine.Registration{Job: job, Submission: &api.JobSubmission{Source: "source of " + *job.ID}})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func deregister(t *testing.T, e *engine.Engine, key string, purge bool) engine.Registered {
	t.Helper()
	answer, err := e.Handle(key).Deregister(engine.Deregistration{Purge: purge})
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// end closes an engine, which leaves its runs.
func end(t *testing.T, e *engine.Engine) {
	t.Helper()
	e.Leave()
	<-e.Done()
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// closeEngine closes an engine, which kills everything.
func closeEngine(t *testing.T, e *engine.Engine) {
	t.Helper()
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// statuses returns the client statuses of a job's allocations, by version.
func statuses(e *engine.Engine, key string) (list []string) {
	for _, a := range e.AllocsOf(key) {
		list = append(list, string('0'+rune(*a.Job.Version))+" "+a.Status)
	}
	return list
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}

func TestResidentLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		world, dataDir := newMachine(), t.TempDir()
		e := resident(t, world, dataDir)
		web := func() *api.Job {
			return named("web", newJob("service", newTask("t", "run_for", "1h", "kill_after", "3s")))
		}
		first := register(t, e, web())
		if first.Version != 0 || first.Evaluation == "" || first.Index < 2 {
			t.Errorf("registered: %+v", first)
		}
		<-time.After(time.Minute)
		expect(t, statuses(e, "web"), "0 running")

		same := register(t, e, web())
		if same.Version != 0 || same.Evaluation == first.Evaluation || same.Index <= first.Index {
			t.Errorf("registered the same: %+v", same)
		}

		stopped := deregister(t, e, "web", false)
		if stopped.Version != 1 || stopped.Evaluation == "" || stopped.Index <= same.Index {
			t.Errorf("stopped: %+v", stopped)
		}
		if again := deregister(t, e, "web", false); again.Version != 1 || again.Evaluation == stopped.Evaluation {
			t.Errorf("stopped again: %+v", again)
		}
		// It is still stopping, and lives again once it has stopped.
		if again := register(t, e, web()); again.Version != 2 {
			t.Errorf("registered while it stops: %+v", again)
		}
		<-time.After(time.Second)
		expect(t, statuses(e, "web"), "0 running")
		<-time.After(time.Minute)
		expect(t, statuses(e, "web"), "0 complete", "2 running")

		deregister(t, e, "web", false)
		<-time.After(time.Minute)
		if stopped, ended := e.Handle("web").Ending(); !stopped || !ended {
			t.Errorf("stopped %t, ended %t", stopped, ended)
		}
		if again := register(t, e, web()); again.Version != 4 {
			t.Errorf("registered a dead job: %+v", again)
		}
		<-time.After(time.Minute)
		expect(t, statuses(e, "web"), "0 complete", "2 complete", "4 running")
		if a := e.AllocsOf("web")[2]; a.Replaces != "" {
			t.Errorf("the allocation of another life replaces %s", a.Replaces)
		}
		if _, err := e.Handle("web").Revert(0, nil); err != nil {
			t.Fatal(err)
		}
		deregister(t, e, "web", true)
		if list := e.Jobs(); len(list) != 0 {
			t.Errorf("a purged job is listed")
		}
		fresh := register(t, e, web())
		if fresh.Version != 0 {
			t.Errorf("registered a purged job: %+v", fresh)
		}
		<-time.After(time.Minute)
		expect(t, statuses(e, "web"), "0 running")
		if source := e.Handle("web").Submission(0); source == nil || source.Source != "source of web" {
			t.Errorf("submission: %v", source)
		}
		closeEngine(t, e)
	})
}

func TestResidentIsContinued(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		world, dataDir := newMachine(), t.TempDir()
		e := resident(t, world, dataDir)
		prod := named("web", newJob("service", newTask("prod", "run_for", "10h")))
		prod.Namespace = new("prod")
		register(t, e, prod)
		register(t, e, named("web", newJob("service", newTask("t", "run_for", "10h"))))
		register(t, e, named("batch", newJob("batch", newTask("b", "run_for", "1s"))))
		register(t, e, named("stopped", newJob("service", newTask("s", "run_for", "10h"))))
		<-time.After(time.Minute)
		deregister(t, e, "stopped", false)
		<-time.After(time.Minute)
		index := deregister(t, e, "stopped", false).Index
		end(t, e)

		e = resident(t, world, dataDir)
		synctest.Wait()
		expect(t, statuses(e, "web"), "0 running")
		expect(t, statuses(e, "web prod"), "0 running")
		expect(t, statuses(e, "batch"), "0 complete")
		expect(t, statuses(e, "stopped"), "0 complete")
		for key, want := range map[string]bool{"web": false, "web prod": false, "batch": true, "stopped": true} {
			if _, ended := e.Handle(key).Ending(); ended != want {
				t.Errorf("job %q has ended: %t", key, ended)
			}
		}
		if again := deregister(t, e, "stopped", false); again.Version != 1 || again.Index <= index {
			t.Errorf("stopped: %+v after index %d", again, index)
		}
		if world.started("t") != 1 || world.started("b") != 1 || world.started("s") != 1 {
			t.Errorf("starts: %v", world.counts())
		}
		if again := register(t, e, named("stopped", newJob("service", newTask("s", "run_for", "10h")))); again.Version != 2 {
			t.Errorf("registered: %+v", again)
		}
		if again := register(t, e, named("batch", newJob("batch", newTask("b", "run_for", "2s")))); again.Version != 1 {
			t.Errorf("registered: %+v", again)
		}
		<-time.After(time.Minute)
		expect(t, statuses(e, "stopped"), "0 complete", "2 running")
		expect(t, statuses(e, "batch"), "0 complete", "1 complete")

		// A stopped engine runs everything again the next time.
		e.Stop()
		<-e.Done()
		closeEngine(t, e)
		if left := world.leftover(); left != "" {
			t.Errorf("task %s is left", left)
		}
		e = resident(t, world, dataDir)
		<-time.After(time.Minute)
		expect(t, statuses(e, "web"), "0 complete", "0 running")
		expect(t, statuses(e, "batch"), "0 complete", "1 complete")
		closeEngine(t, e)
	})
}

// A damaged journal loses its job only, and a notice says so.
func TestResidentDamage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		world, dataDir := newMachine(), t.TempDir()
		e := resident(t, world, dataDir)
		for _, id := range []string{"good", "bad"} {
			register(t, e, named(id, newJob("service", newTask(id, "run_for", "10h"))))
		}
		<-time.After(time.Minute)
		end(t, e)
		states, err := filepath.Glob(dataDir + "/jobs/bad/runs/*/recovery/state")
		if err != nil || len(states) != 1 {
			t.Fatalf("%q, %v", states, err)
		}
		text, err := os.ReadFile(states[0])
		if err != nil {
			t.Fatal(err)
		}
		text[len(text)/2] ^= 1
		if err := os.WriteFile(states[0], text, 0o600); err != nil {
			t.Fatal(err)
		}
		// The rest of a registration that was interrupted is removed.
		if _, err := datadir.OpenResident(dataDir, "half", "20000101T000000.000Z-0000", dataDir+"/agent"); err != nil {
			t.Fatal(err)
		}

		e = engine.New(engine.Config{
			DataDir: dataDir, StateDir: dataDir + "/agent", Resident: true,
			Drivers: map[string]drivers.Driver{"mock_driver": &link{machine: world, dead: &atomic.Bool{}, known: map[string]bool{}}},
			Hooks:   hookcatalog.New(hookcatalog.Options{}), Node: &taskenv.Node{},
		})
		sub := e.Subscribe(false)
		if err := e.Recover(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		lost := false
		for sub.Ready() {
			if e, ok := sub.Next(t.Context()); ok {
				n, _ := e.Body.(event.Notice)
				lost = lost || strings.HasPrefix(n.Text, `job "bad" is lost`)
			}
		}
		if !lost {
			t.Error("no notice says what was lost")
		}
		expect(t, statuses(e, "good"), "0 running")
		if jobs := e.Jobs(); len(jobs) != 1 {
			t.Errorf("%d jobs", len(jobs))
		}
		if left, _ := filepath.Glob(dataDir + "/jobs/half/runs/*"); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
		if again := register(t, e, named("bad", newJob("service", newTask("new", "run_for", "10h")))); again.Version != 0 {
			t.Errorf("registered: %+v", again)
		}
		closeEngine(t, e)
		for _, id := range world.ids { // of the lost job; the keeper kills it
			_ = world.DestroyTask(id, true)
		}
	})
}

// Jobs that are dead for good are forgotten after Nomad's times, or by order.
func TestResidentCollect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		world, dataDir := newMachine(), t.TempDir()
		e := resident(t, world, dataDir)
		tagged := named("tagged", newJob("batch", newTask("t", "run_for", "1s")))
		for _, job := range []*api.Job{
			named("live", newJob("service", newTask("t", "run_for", "100h"))),
			named("failed", newJob("service", newTask("t", "run_for", "1s", "exit_code", 1))),
			named("batch", newJob("batch", newTask("t", "run_for", "1s"))), tagged,
		} {
			register(t, e, job)
		}
		<-time.After(time.Minute)
		if err := e.Handle("tagged").Tag(nil, "v", ""); err != nil {
			t.Fatal(err)
		}
		ids := func() (ids []string) {
			for _, job := range e.Jobs() {
				ids = append(ids, *job.ID)
			}
			return ids
		}
		<-time.After(3 * time.Hour)
		expect(t, ids(), "live", "failed", "batch", "tagged")
		<-time.After(2 * time.Hour)
		expect(t, ids(), "live", "failed", "tagged")
		deregister(t, e, "failed", false)
		register(t, e, named("batch", newJob("batch", newTask("t", "run_for", "1s"))))
		<-time.After(time.Minute)
		e.Collect()
		expect(t, ids(), "live", "tagged")
		if left := e.Allocs(); len(left) != 2 {
			t.Errorf("%d allocations are left", len(left))
		}
		if runs, _ := filepath.Glob(dataDir + "/jobs/*/runs/*"); len(runs) != 2 {
			t.Errorf("left: %q", runs)
		}
		closeEngine(t, e)
	})
}

// Dispatched jobs stay when they are dead, also in another engine, until they are
// too many.
func TestResidentChildren(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		world, dataDir := newMachine(), t.TempDir()
		e := resident(t, world, dataDir)
		parent := named("parent", newJob("batch", newTask("t", "run_for", "1s")))
		parent.ParameterizedJob = &api.ParameterizedJobConfig{}
		parent.Namespace = new("prod")
		register(t, e, parent)
		id, _, err := e.Handle("parent prod").Dispatch(engine.Dispatch{})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		child := event.JobKey("prod", id)
		if _, ended := e.Handle(child).Ending(); !ended || len(e.Jobs()) != 2 {
			t.Errorf("%s has ended: %t; %d jobs", child, ended, len(e.Jobs()))
		}
		deregister(t, e, "parent prod", false)
		if _, _, err := e.Handle("parent prod").Dispatch(engine.Dispatch{}); err == nil {
			t.Error("a stopped job was dispatched")
		}
		end(t, e)
		e = resident(t, world, dataDir)
		<-time.After(time.Second)
		expect(t, statuses(e, child), "0 complete")
		if stopped, ended := e.Handle("parent prod").Ending(); !stopped || !ended {
			t.Errorf("stopped %t, ended %t", stopped, ended)
		}
		again := named("parent", newJob("batch", newTask("t", "run_for", "1s")))
		again.ParameterizedJob, again.Namespace = &api.ParameterizedJobConfig{}, new("prod")
		if answer := register(t, e, again); answer.Version != 2 {
			t.Errorf("registered: %+v", answer)
		}
		if _, _, err = e.Handle("parent prod").Dispatch(engine.Dispatch{}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		if len(e.Jobs()) != 3 {
			t.Errorf("%d jobs", len(e.Jobs()))
		}
		followed := map[fold.Topic]uint64{}
		for _, job := range e.Jobs() {
			topic := fold.Topic{Table: fold.EvaluationsOfJob, Key: event.JobKey(*job.Namespace, *job.ID)}
			followed[topic] = e.State().Index(topic)
		}
		deregister(t, e, "parent prod", true)
		synctest.Wait()
		for topic, index := range followed {
			if e.State().Index(topic) <= index {
				t.Errorf("clients that follow %v do not learn that it is gone", topic)
			}
		}
		if runs, _ := filepath.Glob(dataDir + "/jobs/*/runs/*"); len(runs) != 0 || len(e.Jobs()) != 0 || len(e.Allocs()) != 0 {
			t.Errorf("left: %q, %d jobs, %d allocations", runs, len(e.Jobs()), len(e.Allocs()))
		}
		closeEngine(t, e)
	})
}
