package engine_test

import (
	"context"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine"
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
	answer, err := e.Deregister(key, engine.Deregistration{Purge: purge})
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
		if stopped, ended := e.Ending("web"); !stopped || !ended {
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
		if _, err := e.Revert("web", 0, nil); err != nil {
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
		if source := e.Submission("web", 0); source == nil || source.Source != "source of web" {
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
			if _, ended := e.Ending(key); ended != want {
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
