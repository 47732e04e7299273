package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine"
	"taskrun/engine/registry"
	hookcatalog "taskrun/hooks/catalog"
	"taskrun/jobspec/taskenv"
)

// A node that is not eligible keeps what runs on it, and gets nothing new. A job
// that waits for it can be stopped.
func TestEligibility(t *testing.T) {
	t.Parallel()
	for _, stops := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			node := &taskenv.Node{ID: "n", Meta: map[string]string{"rack": "1"}}
			e := engine.New(engine.Config{
				DataDir: t.TempDir(), Drivers: map[string]drivers.Driver{"mock_driver": mock.New()},
				Hooks: hookcatalog.New(hookcatalog.Options{}), Node: node,
			})
			set := func(ineligible bool) {
				t.Helper()
				if _, err := e.Registry().Nodes.Put("n", &registry.Node{Ineligible: ineligible}); err != nil {
					t.Error(err)
				}
			}
			set(true)
			job := newJob("batch", newTask("t", "run_for", "10s"))
			job.TaskGroups[0].Count = new(2)
			job.Canonicalize()
			began := time.Now()
			if err := e.Submit(job); err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Minute)
			if allocs := e.Allocs(); len(allocs) != 0 {
				t.Errorf("placed %+v", allocs)
			}
			if stops {
				e.Stop()
			} else {
				set(false)
				<-time.After(time.Second)
				set(true)
			}
			<-e.Done()
			lasted, want, placed := time.Since(began), time.Minute, 0
			if !stops {
				want, placed = 70*time.Second, 2
			}
			if lasted != want || len(e.Allocs()) != placed {
				t.Errorf("it lasted %v, want %v; %d allocations", lasted, want, len(e.Allocs()))
			}
			if err := e.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

// Changes of the metadata of the node reach the tasks that start afterwards.
func TestMetaOfTheNodeChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := engine.New(engine.Config{
			DataDir: t.TempDir(), Drivers: map[string]drivers.Driver{"mock_driver": mock.New()},
			Hooks: hookcatalog.New(hookcatalog.Options{}), Node: &taskenv.Node{ID: "n", Meta: map[string]string{"time": "5s", "code": "3"}},
		})
		if _, err := e.Registry().Nodes.Put("n", &registry.Node{Meta: map[string]*string{"time": new("40s")}}); err != nil {
			t.Fatal(err)
		}
		job := newJob("batch", newTask("t", "run_for", "${meta.time}"))
		job.Canonicalize()
		began := time.Now()
		if err := e.Submit(job); err != nil {
			t.Fatal(err)
		}
		<-e.Done()
		if lasted := time.Since(began); lasted != 40*time.Second {
			t.Errorf("the task ran for %v", lasted)
		}
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
