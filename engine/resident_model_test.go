package engine_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine"
	"taskrun/engine/fold"
	"taskrun/engine/store"
	hookcatalog "taskrun/hooks/catalog"
	"taskrun/jobspec/taskenv"
)

// running returns the names of the tasks that run, sorted.
func (m *machine) running() (names []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range m.ids {
		if s, err := m.InspectTask(id); err == nil && s.State == drivers.TaskStateRunning {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names
}

// modelJob is the expected state of a job.
type modelJob struct {
	kind    string // service, batch or parameterized
	version uint64
	count   int
	value   string
	stopped bool
}

// model drives a resident engine with random orders, kills it at random writes,
// and knows what must be left.
type model struct {
	t       *testing.T
	random  *rand.Rand
	world   *machine
	dataDir string
	engine  *engine.Engine
	dead    *atomic.Bool // of the engine
	fuse    atomic.Int64 // writes until the engine dies; negative: never
	old     []*engine.Engine
	index   uint64
	jobs    map[string]*modelJob // by key; those that were acknowledged
	unsure  map[string]bool      // jobs whose last order was interrupted
	orders  map[string]int
	deaths  int
}

// begin begins an engine.
func (m *model) begin() {
	m.dead = &atomic.Bool{}
	dead := m.dead
	if err := os.MkdirAll(m.dataDir+"/agent", 0o700); err != nil {
		m.t.Fatal(err)
	}
	e := engine.New(engine.Config{
		DataDir: m.dataDir, StateDir: m.dataDir + "/agent", Resident: true,
		Drivers: map[string]drivers.Driver{"mock_driver": &link{machine: m.world, dead: dead, known: map[string]bool{}}},
		Hooks:   hookcatalog.New(hookcatalog.Options{}), Node: &taskenv.Node{},
	})
	engine.OnRecorder(e, func(r *store.Recorder) {
		r.HaltWhen(func() bool {
			if m.fuse.Load() > 0 && m.fuse.Add(-1) == 0 {
				dead.Store(true)
			}
			return dead.Load()
		})
	})
	if err := e.Recover(); err != nil {
		m.t.Fatal(err)
	}
	m.engine = e
	m.saw(indexOf(e))
}

func indexOf(e *engine.Engine) uint64 { return e.State().Index(fold.Topic{Table: fold.Jobs}) }

// saw checks that the index does not fall.
func (m *model) saw(index uint64) {
	m.t.Helper()
	if index < m.index {
		m.t.Errorf("the index falls from %d to %d", m.index, index)
	}
	m.index = index
}

// revive replaces a dead engine.
func (m *model) revive() {
	m.deaths++
	m.fuse.Store(-1)
	m.engine.Leave()
	m.engine.Kill() // it can no longer reach any task, and should not retry for minutes
	<-m.engine.Done()
	synctest.Wait()
	m.old = append(m.old, m.engine)
	if err := m.engine.Close(context.Background()); err != nil {
		m.t.Error(err)
	}
	m.begin()
}

// order gives an order to the engine, which may die while it carries it out.
func (m *model) order(key, name string, do func() error) (done bool) {
	m.t.Helper()
	err := do()
	var scale engine.ScaleError
	switch {
	case errors.As(err, &scale):
		return false // its deployment is active
	case m.dead.Load():
		m.unsure[key] = true
		m.revive()
		return false
	case err != nil:
		m.t.Fatalf("%s %s: %v", name, key, err)
	}
	m.orders[name]++
	return true
}

func (m *model) job(key string, j *modelJob) *api.Job {
	id, namespace, _ := strings.Cut(key, " ")
	t := newTask("t", "run_for", "1000h", "kill_after", "2s")
	if j.kind != "service" {
		t = newTask("t", "run_for", "3s")
	}
	t.Name = "t-" + strings.ReplaceAll(key, " ", "-")
	t.Env = map[string]string{"VALUE": j.value}
	kind := j.kind
	if kind == "parameterized" {
		kind = "batch"
	}
	job := newJob(kind, t)
	job.TaskGroups[0].Count = &j.count
	if j.kind == "parameterized" {
		job.ParameterizedJob = &api.ParameterizedJobConfig{}
	}
	if namespace != "" {
		job.Namespace = &namespace
	}
	return named(id, job)
}

var kinds = []string{"service", "service", "batch", "parameterized"}

// step gives a random order.
func (m *model) step() {
	n := m.random.IntN(20)
	key := fmt.Sprint("job", n)
	if n%5 == 0 {
		key += " prod"
	}
	known := m.jobs[key]
	if m.unsure[key] { // ask
		delete(m.unsure, key)
		job, ok := m.engine.Job(key)
		if !ok {
			delete(m.jobs, key)
			return
		}
		g := job.TaskGroups[0]
		m.jobs[key] = &modelJob{kind: kinds[n%len(kinds)], version: *job.Version, count: *g.Count, value: g.Tasks[0].Env["VALUE"], stopped: job.Stop != nil && *job.Stop}
		return
	}
	what := m.random.IntN(12)
	switch {
	case what < 4 || known == nil: // register
		j := &modelJob{kind: kinds[n%len(kinds)], count: 1 + m.random.IntN(2), value: fmt.Sprint(m.random.IntN(2))}
		if known != nil {
			j.version = known.version
			if known.stopped || known.count != j.count || known.value != j.value {
				j.version++
			}
		}
		var answer engine.Registered
		if m.order(key, "register", func() (err error) {
			answer, err = m.engine.Register(engine.Registration{Job: m.job(key, j), Submission: &api.JobSubmission{Source: j.value}})
			return err
		}) {
			if answer.Version != j.version {
				m.t.Fatalf("job %s has version %d, want %d", key, answer.Version, j.version)
			}
			if j.kind != "parameterized" || answer.Plan.Diff.Type != "None" {
				m.saw(answer.Index)
			}
			m.jobs[key] = j
		}
	case what < 7: // stop or purge
		var answer engine.Registered
		purge := what == 6
		if m.order(key, map[bool]string{true: "purge", false: "stop"}[purge], func() (err error) {
			answer, err = m.engine.Handle(key).Deregister(engine.Deregistration{Purge: purge})
			return err
		}) {
			m.saw(answer.Index)
			if !known.stopped {
				known.version++
			}
			if known.stopped = true; purge {
				delete(m.jobs, key)
			}
		}
	case what == 7 && known.kind != "parameterized" && !known.stopped:
		count := int64(m.random.IntN(3))
		if m.order(key, "scale", func() error {
			_, err := m.engine.Handle(key).Scale(engine.Scaling{Group: "g", Count: &count})
			return err
		}) && known.count != int(count) {
			known.count, known.version = int(count), known.version+1
		}
	case what == 8 && known.kind == "parameterized" && !known.stopped:
		m.order(key, "dispatch", func() error {
			_, _, err := m.engine.Handle(key).Dispatch(engine.Dispatch{})
			return err
		})
	case what == 9 && known.kind == "service":
		if allocs := m.engine.AllocsOf(key); len(allocs) > 0 {
			m.order(key, "stop of an allocation", func() error { return m.engine.StopAlloc(allocs[len(allocs)-1].ID, engine.AllocStop{}) })
		}
	case what == 10:
		m.order("", "collect", func() error { m.engine.Collect(); return nil })
		for key, j := range m.jobs { // collectable jobs may be gone
			if j.stopped || j.kind == "batch" {
				m.unsure[key] = true
			}
		}
	}
}

// settle waits until nothing changes, and checks what is left.
func (m *model) settle() {
	m.t.Helper()
	<-time.After(time.Minute)
	if m.dead.Load() {
		m.revive()
		<-time.After(time.Minute)
	}
	for key := range maps.Clone(m.unsure) {
		delete(m.unsure, key)
		var n int
		fmt.Sscanf(key, "job%d", &n)
		job, ok := m.engine.Job(key)
		if !ok {
			delete(m.jobs, key)
			continue
		}
		g := job.TaskGroups[0]
		m.jobs[key] = &modelJob{kind: kinds[n%len(kinds)], version: *job.Version, count: *g.Count, value: g.Tasks[0].Env["VALUE"], stopped: job.Stop != nil && *job.Stop}
	}
	delete(m.jobs, "")
	var want []string
	known := map[string]bool{}
	for key, j := range m.jobs {
		job, ok := m.engine.Job(key)
		if !ok {
			m.t.Errorf("job %s is lost", key)
			continue
		}
		known[key] = true
		if *job.Version != j.version || (job.Stop != nil && *job.Stop) != j.stopped {
			m.t.Errorf("job %s has version %d, stopped %v, want %+v", key, *job.Version, job.Stop, *j)
		}
		if source := m.engine.Handle(key).Submission(*job.Version); source == nil || !j.stopped && source.Source != j.value {
			m.t.Errorf("version %d of job %s has the source %v", *job.Version, key, source)
		}
		if j.kind == "service" && !j.stopped {
			for range j.count {
				want = append(want, job.TaskGroups[0].Tasks[0].Name)
			}
		}
		if _, ended := m.engine.Handle(key).Ending(); ended != (j.stopped || j.kind == "batch") && j.count > 0 {
			m.t.Errorf("job %s, %+v, has ended: %t", key, *j, ended)
		}
	}
	slices.Sort(want)
	if got := m.world.running(); !slices.Equal(got, want) {
		m.t.Errorf("running: %q, want %q", got, want)
		for key := range m.jobs {
			for _, a := range m.engine.AllocsOf(key) {
				m.t.Logf("%s version %d %s %s unwanted %q", a.Name, *a.Job.Version, a.ID[:8], a.Status, a.Unwanted)
			}
		}
	}
	for _, job := range m.engine.Jobs() {
		parent := job.ID
		if job.ParentID != nil && *job.ParentID != "" {
			parent = job.ParentID
		}
		key := *parent
		if *job.Namespace != "default" {
			key += " " + *job.Namespace
		}
		if !known[key] {
			m.t.Errorf("job %s is still there", key)
		}
	}
	dirs, err := filepath.Glob(m.dataDir + "/jobs/*/runs/*")
	if err != nil || len(dirs) != len(m.jobs) {
		for _, dir := range dirs {
			if name, err := url.PathUnescape(filepath.Base(filepath.Dir(filepath.Dir(dir)))); err != nil || !known[name] {
				text, _ := os.ReadFile(dir + "/events.json")
				files, _ := filepath.Glob(dir + "/*")
				m.t.Errorf("%q is left, with %q; its events: %s", dir, files, text)
			}
		}
		m.t.Errorf("%d directories of %d jobs are left", len(dirs), len(m.jobs))
	}
}

// modelSeeds is how many random orders TestResidentModel tries.
const modelSeeds = 6

// TestResidentModel gives random orders to resident engines, which die at random
// writes: nothing is lost, done twice or left behind, and the index never falls.
func TestResidentModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(modelSeeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &model{
					t: t, random: rand.New(rand.NewPCG(seed, 20)), world: newMachine(), dataDir: t.TempDir(),
					jobs: map[string]*modelJob{}, unsure: map[string]bool{}, orders: map[string]int{},
				}
				m.fuse.Store(-1)
				m.begin()
				defer func() { _ = m.engine.Close(context.Background()) }()
				for range 6 {
					for range 30 {
						if m.fuse.Load() <= 0 && m.random.IntN(10) == 0 {
							m.fuse.Store(int64(1 + m.random.IntN(60)))
						}
						m.step()
						if m.random.IntN(3) == 0 {
							<-time.After(time.Duration(m.random.IntN(4000)) * time.Millisecond)
						}
						if m.dead.Load() {
							m.revive()
						}
						if t.Failed() {
							break
						}
					}
					m.fuse.Store(-1)
					m.settle()
					if t.Failed() {
						break
					}
				}
				if err := m.engine.Close(context.Background()); err != nil {
					t.Error(err)
				}
				if left := m.world.running(); len(left) > 0 {
					t.Errorf("still running: %q", left)
				}
				t.Logf("%v, %d deaths", m.orders, m.deaths)
			})
		})
	}
}
