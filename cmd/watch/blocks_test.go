package watch

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine"
	"taskrun/engine/fold"
	"taskrun/hooks/catalog"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
)

// service returns a job with two allocations of two tasks that run for long.
func service() *api.Job {
	g := api.NewTaskGroup("g", 2)
	for _, name := range []string{"app", "deaf"} {
		task := api.NewTask(name, "mock_driver")
		task.Config = map[string]any{"run_for": "100h"}
		if name == "deaf" {
			task.Config["signal_error"] = "no ears"
		}
		g.Tasks = append(g.Tasks, task)
	}
	j := &api.Job{ID: new("web"), Type: new("service"), TaskGroups: []*api.TaskGroup{g}}
	j.Canonicalize()
	return j
}

// engineOf returns an engine that runs jobs.
func engineOf(t *testing.T, data string, jobs ...*api.Job) *engine.Engine {
	t.Helper()
	e := engine.New(engine.Config{
		DataDir: data, PortDir: filepath.Join(data, "ports"), Drivers: map[string]drivers.Driver{"mock_driver": mock.New()},
		Hooks: catalog.New(catalog.Options{}), Node: &taskenv.Node{},
	})
	if err := e.Submit(jobs...); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestTasksOfABlock(t *testing.T) {
	t.Parallel()
	for target, want := range map[string][][2]string{
		"app": {{"g", "app"}}, "web/g/deaf": {{"g", "deaf"}}, "other/g/app": nil, "web/g/none": nil,
	} {
		j := service()
		if diff := cmp.Diff(want, Tasks(j, &stub.TaskWatch{Target: target})); diff != "" {
			t.Errorf("%s: %s", target, diff)
		}
		j.ID, j.ParentID = new("web/dispatch-1"), new("web")
		if diff := cmp.Diff(want, Tasks(j, &stub.TaskWatch{Target: target})); diff != "" {
			t.Errorf("%s of a child: %s", target, diff)
		}
	}
}

// Blocks restart their tasks or send them a signal, except those that a user has
// stopped, and say what they did.
func TestBlocks(t *testing.T) {
	t.Parallel()
	data, dir := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		e := engineOf(t, data, service())
		<-time.After(time.Minute)
		var said []string
		s := &Blocks{Engine: e, Say: func(text string) { said = append(said, text) }}
		block := func(target string, change stub.Change) *stub.TaskWatch {
			return &stub.TaskWatch{Target: target, Watch: stub.Watch{Dir: dir, Change: change, Signal: "SIGHUP"}}
		}
		act := func(b *stub.TaskWatch, changed, want string) {
			t.Helper()
			said = nil
			s.Unit(b, "").Do(t.Context(), changed)
			if !slices.Equal(said, []string{want}) {
				t.Errorf("said %q, want %q", said, want)
			}
		}
		file := filepath.Join(resolved(dir), "main.go")
		act(block("app", stub.ChangeRestart), file, "app: main.go has changed, restarted 2 tasks")
		<-time.After(time.Minute)
		act(block("app", stub.ChangeSignal), "/elsewhere", "app: /elsewhere has changed, sent SIGHUP to 2 tasks")
		act(block("app", stub.ChangeNoop), file, "app: main.go has changed")
		act(block("web/none/app", stub.ChangeRestart), file, "web/none/app: main.go has changed, restarted 0 tasks")
		first, second := e.Allocs()[0], e.Allocs()[1]
		stop := func(a engine.Alloc, task string) {
			if err := a.StopTask(t.Context(), task); err != nil {
				t.Fatal(err)
			}
		}
		stop(first, "deaf")
		act(block("deaf", stub.ChangeSignal), file, "deaf: main.go has changed, left 1 task stopped, "+second.Name+"/deaf: no ears")
		stop(first, "app")
		act(block("app", stub.ChangeRestart), file, "app: main.go has changed, restarted 1 task, left 1 task stopped")
		<-time.After(time.Minute)
		stop(second, "app")
		act(block("app", stub.ChangeRestart), file, "app: main.go has changed, left 2 tasks stopped")
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		said = nil
		if s.Unit(block("app", stub.ChangeRestart), "").Do(ended, file); len(said) > 0 {
			t.Errorf("said %q of a change that another one has replaced", said)
		}
		e.State().Look(func(run *fold.Run) {
			for i, want := range []uint64{1, 2} {
				id := []engine.Alloc{first, second}[i].ID
				for _, a := range run.Allocs {
					if a.ID == id && a.Tasks[0].Restarts != want {
						t.Errorf("%s/%s was restarted %d times, want %d", a.Name, a.Tasks[0].Name, a.Tasks[0].Restarts, want)
					}
				}
			}
		})
		if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// Of the allocations with a task of a name, those of other groups, those that were
// replaced, and ended children are left alone.
func TestBlocksLeaveOthersAlone(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	job := func(id, kind, parent string, groups ...string) *api.Job {
		j := &api.Job{ID: new(id), Type: new(kind)}
		if parent != "" {
			j.ParentID = new(parent)
		}
		for _, name := range groups {
			task := api.NewTask("app", "mock_driver")
			task.Config = map[string]any{"run_for": "100h"}
			g := api.NewTaskGroup(name, 1).AddTask(task)
			if name == "ends" {
				task.Config["run_for"] = "1s"
			}
			if name == "fails" {
				task.Config = map[string]any{"run_for": "30s", "exit_code": 1}
				g.RestartPolicy = &api.RestartPolicy{Attempts: new(0), Mode: new("fail")}
				g.ReschedulePolicy = &api.ReschedulePolicy{Delay: new(time.Hour), DelayFunction: new("constant"), Unlimited: new(true)}
			}
			j.TaskGroups = append(j.TaskGroups, g)
		}
		j.Canonicalize()
		return j
	}
	synctest.Test(t, func(t *testing.T) {
		e := engineOf(t, data, job("web", "service", "", "runs", "fails"), job("batch", "batch", "", "ends", "runs"), job("each/dispatch-1", "batch", "each", "ends", "runs"))
		<-time.After(time.Hour + 40*time.Second)
		said := ""
		s := &Blocks{Engine: e, Say: func(text string) { said = text }}
		for target, want := range map[string]string{
			"web/runs/app": "restarted 1 task", "web/fails/app": "restarted 1 task", "batch/ends/app": "restarted 1 task", "each/ends/app": "restarted 0 tasks",
		} {
			s.Unit(&stub.TaskWatch{Target: target, Watch: stub.Watch{Dir: data, Change: stub.ChangeRestart}}, "").Do(t.Context(), "/x")
			if said != target+": /x has changed, "+want {
				t.Errorf("%s: said %q, want %q", target, said, want)
			}
		}
		if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
}
