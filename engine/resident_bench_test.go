package engine_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine"
	"taskrun/engine/leaf/event"
	hookcatalog "taskrun/hooks/catalog"
	"taskrun/jobspec/taskenv"
)

// benchResident returns a resident engine with mock tasks, and its subscription.
func benchResident(b *testing.B, dataDir string) (*engine.Engine, *event.Subscription) {
	b.Helper()
	if err := os.MkdirAll(dataDir+"/agent", 0o700); err != nil {
		b.Fatal(err)
	}
	e := engine.New(engine.Config{
		DataDir: dataDir, StateDir: dataDir + "/agent", Resident: true,
		Drivers: map[string]drivers.Driver{"mock_driver": mock.New()},
		Hooks:   hookcatalog.New(hookcatalog.Options{}), Node: &taskenv.Node{},
	})
	sub := e.Subscribe(false)
	if err := e.Recover(); err != nil {
		b.Fatal(err)
	}
	return e, sub
}

// await returns once so many tasks have become running.
func await(b testing.TB, sub *event.Subscription, n int) {
	b.Helper()
	for n > 0 {
		e, ok := sub.Next(b.Context())
		if !ok {
			b.Fatal("the events end")
		}
		if s, ok := e.Body.(event.TaskState); ok && s.State == "running" {
			n--
		}
	}
}

func registerMany(b testing.TB, e *engine.Engine, from, to int) {
	b.Helper()
	for i := from; i < to; i++ {
		job := named(fmt.Sprint("job", i), newJob("service", newTask("t", "run_for", "10h")))
		if _, err := e.Register(engine.Registration{Job: job}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRegister registers a job in an engine that has others, until its task
// runs. The time must not depend on their number.
func BenchmarkRegister(b *testing.B) {
	for _, others := range []int{0, 100, 1000, 5000} {
		b.Run(fmt.Sprint(others), func(b *testing.B) {
			e, sub := benchResident(b, b.TempDir())
			registerMany(b, e, 0, others)
			await(b, sub, others)
			next := others
			for b.Loop() {
				registerMany(b, e, next, next+1)
				await(b, sub, 1)
				next++
			}
			b.StopTimer()
			if err := e.Close(context.Background()); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// BenchmarkManyJobs registers 1,000 jobs until all run, and continues them in
// another engine.
func BenchmarkManyJobs(b *testing.B) {
	const n = 1000
	for b.Loop() {
		dir := b.TempDir()
		before := heap()
		e, sub := benchResident(b, dir)
		began := time.Now()
		registerMany(b, e, 0, n)
		await(b, sub, n)
		b.ReportMetric(time.Since(began).Seconds(), "s/running")
		b.ReportMetric(float64(heap()-before)/n/1024, "KiB/job")
		b.ReportMetric(float64(runtime.NumGoroutine())/n, "goroutines/job")
		began = time.Now()
		for i := range n {
			if _, err := e.Handle(fmt.Sprint("job", i)).Deregister(engine.Deregistration{}); err != nil {
				b.Fatal(err)
			}
		}
		for i := range n {
			for ended := false; !ended; {
				if _, ended = e.Handle(fmt.Sprint("job", i)).Ending(); !ended {
					runtime.Gosched()
				}
			}
		}
		b.ReportMetric(time.Since(began).Seconds(), "s/stopped")
		b.ReportMetric(float64(heap()-before)/n/1024, "KiB/dead")
		b.ReportMetric(float64(openFiles(b)), "files/dead")
		e.Leave()
		<-e.Done()
		if err := e.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
		sub.Close()
		began = time.Now()
		e, sub = benchResident(b, dir)
		b.ReportMetric(time.Since(began).Seconds(), "s/recovered")
		for i := range n {
			for ended := false; !ended; {
				if _, ended = e.Handle(fmt.Sprint("job", i)).Ending(); !ended {
					runtime.Gosched()
				}
			}
		}
		b.ReportMetric(time.Since(began).Seconds(), "s/settled")
		began = time.Now()
		e.Collect()
		b.ReportMetric(time.Since(began).Seconds(), "s/collected")
		if left := len(e.Jobs()); left > 0 {
			b.Errorf("%d jobs are left", left)
		}
		if err := e.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
		sub.Close()
	}
}

func openFiles(b *testing.B) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		b.Log(err)
	}
	return len(entries)
}
