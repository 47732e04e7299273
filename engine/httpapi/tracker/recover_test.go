package tracker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine"
	"taskrun/hooks/catalog"
	"taskrun/jobspec/taskenv"
)

// TestARecoveredEngineHasTheSameIndexes compares what a tracker knows before
// an engine is left and after another one has taken up its run.
func TestARecoveredEngineHasTheSameIndexes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		task := api.NewTask("t", "mock_driver")
		task.Config = map[string]any{"run_for": "40s", "exit_code": 1}
		task.RestartPolicy = &api.RestartPolicy{Attempts: new(0), Mode: new("fail")}
		g := api.NewTaskGroup("g", 1)
		g.Tasks = []*api.Task{task}
		job := &api.Job{ID: new("job"), Type: new("service"), TaskGroups: []*api.TaskGroup{g}}
		job.Canonicalize()

		driver, dataDir := mock.New(), t.TempDir()
		begin := func() (*engine.Engine, *Tracker) {
			e := engine.New(engine.Config{
				DataDir: dataDir, Drivers: map[string]drivers.Driver{"mock_driver": driver},
				Hooks: catalog.New(catalog.Options{}), Node: &taskenv.Node{}, Durable: true,
			})
			return e, New(e, "node")
		}
		end := func(e *engine.Engine, tr *Tracker) {
			<-e.Done()
			if err := e.Close(context.Background()); err != nil {
				t.Error(err)
			}
			tr.Close()
		}

		first, before := begin()
		if err := first.Submit(job); err != nil {
			t.Fatal(err)
		}
		<-time.After(100 * time.Second) // the first allocation has failed and was replaced
		run := first.Runs()[0]
		dir := run.Dir
		run.Lock.Close()
		first.Leave()
		end(first, before)

		second, after := begin()
		if err := second.Recover(engine.Run{Dir: dir}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(after.allocs) != 2 {
			t.Errorf("%d allocations are known, want 2", len(after.allocs))
		}
		opts := cmp.AllowUnexported(Alloc{}, Deployment{})
		if diff := cmp.Diff(before.allocs, after.allocs, opts); diff != "" {
			t.Errorf("allocations (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(before.deployments, after.deployments, opts); diff != "" {
			t.Errorf("deployment (-before +after):\n%s", diff)
		}
		for name, index := range before.indexes {
			if after.indexes[name] != index {
				t.Errorf("index of %s was %d, is %d", name, index, after.indexes[name])
			}
		}
		if after.now < before.now {
			t.Errorf("the index was %d, is %d", before.now, after.now)
		}
		second.Kill()
		end(second, after)
	})
}
