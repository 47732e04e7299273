package engine_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine"
	"taskrun/engine/leaf/event"
	hookcatalog "taskrun/hooks/catalog"
	"taskrun/jobspec/taskenv"
)

// BenchmarkTasks runs mock tasks, in one group or in one allocation each, from
// submission until all have ended. The time for each task must not depend on
// their number.
func BenchmarkTasks(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		for name, shape := range map[string]func(int) *api.Job{"group": oneGroup, "count": manyAllocs} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					runOnce(b, shape(n), false)
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(n), "µs/task")
			})
		}
	}
}

func oneGroup(n int) *api.Job {
	tasks := make([]*api.Task, n)
	for i := range tasks {
		tasks[i] = newTask(fmt.Sprint("t", i))
	}
	return newJob("batch", tasks...)
}

func manyAllocs(n int) *api.Job {
	job := newJob("batch", newTask("t"))
	job.TaskGroups[0].Count = &n
	return job
}

func runOnce(b *testing.B, job *api.Job, durable bool) {
	b.Helper()
	job.Canonicalize()
	e := engine.New(engine.Config{
		DataDir: b.TempDir(), Drivers: map[string]drivers.Driver{"mock_driver": mock.New()},
		Hooks: hookcatalog.New(hookcatalog.Options{}), Node: &taskenv.Node{}, Durable: durable,
	})
	if err := e.Submit(job); err != nil {
		b.Fatal(err)
	}
	<-e.Done()
	if err := e.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
}

// TestManyRestartsUseNoMemory restarts a task ten thousand times and compares
// the heap with that after the first thousand.
func TestManyRestartsUseNoMemory(t *testing.T) { // not parallel: it measures all memory
	const first, all = 1000, 10_000
	var after [2]uint64
	synctest.Test(t, func(t *testing.T) {
		job := newJob("service", with(newTask("t", "run_for", "1s", "exit_code", 1), func(t *api.Task) {
			t.RestartPolicy = &api.RestartPolicy{
				Attempts: new(all), Delay: new(time.Second), Interval: new(100 * 24 * time.Hour), Mode: new("fail"),
			}
		}))
		job.Canonicalize()
		e := engine.New(engine.Config{
			DataDir: t.TempDir(), Drivers: map[string]drivers.Driver{"mock_driver": mock.New()},
			Hooks: hookcatalog.New(hookcatalog.Options{}), Node: &taskenv.Node{},
		})
		sub := e.Subscribe(true)
		if err := e.Submit(job); err != nil {
			t.Fatal(err)
		}
		for restarts := uint64(0); restarts < all; {
			ev, ok := sub.Next(t.Context())
			if !ok {
				t.Fatalf("the events end after %d restarts", restarts)
			}
			s, isState := ev.Body.(event.TaskState)
			if !isState || s.Restarts == restarts {
				continue
			}
			switch restarts = s.Restarts; restarts {
			case first:
				after[0] = heap()
			case all:
				after[1] = heap()
			}
		}
		e.Kill()
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
		sub.Close()
	})
	const slack = 512 << 10
	if after[1] > after[0]+slack {
		t.Errorf("the heap has %d KiB after %d restarts and %d KiB after %d", after[0]>>10, first, after[1]>>10, all)
	}
	t.Logf("heap: %d KiB after %d restarts, %d KiB after %d", after[0]>>10, first, after[1]>>10, all)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkDurable is BenchmarkTasks with everything stored that a later engine
// needs.
func BenchmarkDurable(b *testing.B) {
	for name, durable := range map[string]bool{"foreground": false, "durable": true} {
		b.Run(name, func(b *testing.B) {
			const n = 1000
			for b.Loop() {
				runOnce(b, manyAllocs(n), durable)
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/n, "µs/task")
		})
	}
}
