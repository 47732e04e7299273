package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine"
	"taskrun/engine/store"
	hookcatalog "taskrun/hooks/catalog"
	"taskrun/jobspec/taskenv"
)

// TestAnyOrder sends random orders to a job, with engines that come, go and
// die, and then gives it a version that can run: then exactly that must run,
// completely.
func TestAnyOrder(t *testing.T) {
	t.Parallel()
	const seeds = 30
	var checked, allocations atomic.Int64
	t.Cleanup(func() { // after all have ended
		if n := checked.Load(); n < seeds/2 || allocations.Load() < n {
			t.Errorf("%d of %d jobs came as far as a check, with %d allocations", n, seeds, allocations.Load())
		}
	})
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if n, ok := orderAbout(t, rand.New(rand.NewPCG(seed, 1))); ok {
					checked.Add(1)
					allocations.Add(int64(n))
				}
			})
		})
	}
}

// orderAbout returns how many allocations it has checked, unless the job ended on
// its own before.
func orderAbout(t *testing.T, random *rand.Rand) (checked int, ok bool) {
	world, dataDir := newMachine(), t.TempDir()
	e := newMortal(world, dataDir)
	var dead []*engine.Engine
	defer func() {
		e.Stop()
		for _, e := range append(dead, e.Engine) {
			<-e.Done()
			if err := e.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}
		if id := world.leftover(); id != "" {
			t.Errorf("task %s is left", id)
		}
	}()
	first := service(3, "first")
	first.Canonicalize()
	if err := e.Submit(first); err != nil {
		t.Fatal(err)
	}
	run := e.Runs()[0]
	run.Lock.Close()
	var done []string
	for range 25 {
		<-time.After(time.Duration(random.IntN(8000)) * time.Millisecond)
		if over(e.Engine) {
			return 0, false
		}
		end := random.IntN(12)
		if end == 0 {
			e.points.Store(1 + int64(random.IntN(30)))
			done = append(done, "dying")
		}
		done = append(done, order(e.Engine, random))
		if end > 1 {
			continue
		}
		if end == 0 {
			synctest.Wait()
			e.gone.Store(true) // at the latest
		}
		done = append(done, "another engine")
		e.Leave()
		if end == 0 {
			synctest.Wait() // a dead engine no longer changes files
		} else {
			<-e.Done()
		}
		dead = append(dead, e.Engine)
		e = newMortal(world, dataDir)
		if err := e.Recover(engine.Run{Dir: run.Dir, Lock: lockOf(dead)}); err != nil {
			t.Fatalf("%v: %v", done, err)
		}
	}
	last := altered(service(1+random.IntN(4), "last"), func(j *api.Job, u *api.UpdateStrategy) {
		j.Meta = map[string]string{"last": "yes"}
		u.MaxParallel = new(1 + random.IntN(3))
	})
	last.Canonicalize()
	if over(e.Engine) {
		return 0, false
	}
	if _, err := e.Register(engine.Registration{Job: last}); err != nil {
		t.Fatalf("%v: %v", done, err)
	}
	<-time.After(5 * time.Minute)

	newest := e.Jobs()[0]
	deployments := e.Handle("job").Deployments()
	if d := deployments[len(deployments)-1]; d.Status != "successful" || d.Version != *newest.Version || !*newest.Stable {
		t.Errorf("%v: the deployment of version %d is %s: %s", done, d.Version, d.Status, d.Description)
	}
	running := map[int]int{}
	for _, a := range e.Allocs() {
		if a.Status != api.AllocClientStatusRunning {
			continue
		}
		var index int
		if _, err := fmt.Sscanf(a.Name, "job.g[%d]", &index); err != nil {
			t.Error(err)
		}
		running[index]++
		checked++
		if *a.Job.Version != *newest.Version || a.Unwanted != "" || a.Canary {
			t.Errorf("%v: %s is of version %d, %q", done, a.Name, *a.Job.Version, a.Unwanted)
		}
	}
	if len(running) != *newest.TaskGroups[0].Count {
		for _, a := range e.Allocs() {
			t.Logf("%s %s v%d %q created %v modified %v %v", a.Name, a.Status, *a.Job.Version, a.Unwanted, a.Created.Format("04:05.000"), a.Modified.Format("04:05.000"), a.Description)
		}
		t.Log(time.Now().Format("04:05.000"))
	}
	for i := range *newest.TaskGroups[0].Count {
		if running[i] != 1 {
			t.Errorf("%v: index %d runs %d times", done, i, running[i])
		}
	}
	if len(running) != *newest.TaskGroups[0].Count {
		t.Errorf("%v: %v run, want %d", done, running, *newest.TaskGroups[0].Count)
	}
	return checked, true
}

// mortal is an engine that dies after a number of writes.
type mortal struct {
	*engine.Engine
	gone   *atomic.Bool
	points atomic.Int64 // 0: it does not die
}

func newMortal(world *machine, dataDir string) *mortal {
	m := &mortal{gone: &atomic.Bool{}}
	m.Engine = engine.New(engine.Config{
		DataDir: dataDir,
		Drivers: map[string]drivers.Driver{"mock_driver": &link{machine: world, dead: m.gone, known: map[string]bool{}}},
		Hooks:   hookcatalog.New(hookcatalog.Options{}), Node: &taskenv.Node{}, Durable: true,
	})
	engine.OnRecorder(m.Engine, func(r *store.Recorder) {
		r.HaltWhen(func() bool {
			if m.points.Load() > 0 && m.points.Add(-1) == 0 {
				m.gone.Store(true)
			}
			return m.gone.Load()
		})
	})
	return m
}

// over reports whether the job has ended because all of it has failed.
func over(e *engine.Engine) bool {
	select {
	case <-e.Done():
		return true
	default:
		return false
	}
}

// order carries out a random order, which may be refused, and returns its name.
func order(e *engine.Engine, random *rand.Rand) (what string) {
	var err error
	deployments := e.Handle("job").Deployments()
	latest := deployments[len(deployments)-1].ID
	switch random.IntN(9) {
	case 0, 1, 2:
		job := altered(service(random.IntN(5), fmt.Sprint(random.IntN(3))), func(_ *api.Job, u *api.UpdateStrategy) {
			u.Canary, u.MaxParallel = new(random.IntN(3)), new(random.IntN(3))
			u.AutoRevert, u.AutoPromote = new(random.IntN(2) == 0), new(*u.Canary > 0 && random.IntN(2) == 0)
		})
		if random.IntN(3) == 0 {
			job.TaskGroups[0].Tasks[0].Config["run_for"] = "3s"
			job.TaskGroups[0].ReschedulePolicy = &api.ReschedulePolicy{
				Delay: new(5 * time.Second), DelayFunction: new("constant"), Unlimited: new(random.IntN(4) > 0),
			}
		}
		job.Canonicalize()
		_, err = e.Register(engine.Registration{Job: job})
		g := job.TaskGroups[0]
		what = fmt.Sprintf("update: %d of %q for %v, %d canaries", *g.Count, g.Tasks[0].Env["VALUE"], g.Tasks[0].Config["run_for"], *g.Update.Canary)
	case 3:
		what = "scale"
		_, err = e.Handle("job").Scale(engine.Scaling{Group: "g", Count: new(int64(random.IntN(5)))})
	case 4:
		what, err = "promote", e.Deployment(latest).Promote(nil)
	case 5:
		pause := random.IntN(2) == 0
		what, err = fmt.Sprint("pause ", pause), e.Deployment(latest).Pause(pause)
	case 6:
		what, err = "fail", e.Deployment(latest).Fail()
	case 7:
		versions, _ := e.Handle("job").Versions()
		what = "revert"
		_, err = e.Handle("job").Revert(*versions[random.IntN(len(versions))].Version, nil)
	case 8:
		what = "stop nothing"
		for _, a := range e.Allocs() {
			if a.Status == api.AllocClientStatusRunning {
				what, err = "stop "+a.Name, e.StopAlloc(a.ID, engine.AllocStop{})
				break
			}
		}
	}
	if err != nil {
		what += ": " + err.Error()
	}
	return what
}
