package identity

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
	"go.uber.org/goleak"

	"taskrun/engine/allocdir"
	"taskrun/engine/event"
	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// control writes down what the hook does to its task.
type control struct {
	hooks.Control
	begin   time.Time
	mu      sync.Mutex
	lines   []string
	running atomic.Bool
}

func (c *control) note(e *api.TaskEvent, more string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, fmt.Sprintf("%v %s: %s%s", time.Since(c.begin), e.Type, e.DisplayMessage, more))
}

func (c *control) Restart(_ context.Context, e *api.TaskEvent) error {
	c.note(e, "")
	return nil
}

func (c *control) Signal(e *api.TaskEvent, signal string) error {
	if !c.running.Load() {
		return hooks.ErrNotRunning
	}
	c.note(e, " "+signal)
	return nil
}

func newTask(t *testing.T, c hooks.Control, identities ...*api.WorkloadIdentity) hooks.Task {
	t.Helper()
	g := api.NewTaskGroup("g", 1)
	task := api.NewTask("t", "mock_driver")
	task.Identities = identities
	g.Tasks = []*api.Task{task}
	job := &api.Job{ID: new("job"), TaskGroups: []*api.TaskGroup{g}}
	job.Canonicalize()
	dir := t.TempDir()
	if _, err := allocdir.Build(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := allocdir.BuildTask(dir, "t", nil); err != nil {
		t.Fatal(err)
	}
	return hooks.Task{
		Alloc: &event.Alloc{ID: "alloc-id"}, Job: job, Group: g, Task: task, AllocDir: dir, Control: c,
		Emit: func(e *api.TaskEvent) { t.Errorf("event %v", e) },
	}
}

func start(t *testing.T, h hooks.TaskHook) map[string]string {
	t.Helper()
	var resp hooks.PrestartResponse
	env := taskenv.NewBuilder(&taskenv.Node{Region: "here"}, taskenv.AllocInfo{}, nil, nil, nil).Build()
	if err := h.(hooks.TaskPrestart).Prestart(t.Context(), &hooks.PrestartRequest{Env: env}, &resp); err != nil {
		t.Fatal(err)
	}
	return resp.IdentityTokens
}

func read(t *testing.T, task hooks.Task, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(task.AllocDir, "t", name))
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

func TestATokenIsNomadsInForm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		task := newTask(t, nil, &api.WorkloadIdentity{Name: "aws", Audience: []string{"a", "b"}, Env: true, TTL: time.Hour})
		task.Job.ParentID = new("parent")
		h := New(task)
		token := start(t, h)["aws"]
		h.(hooks.TaskShutdown).Shutdown()
		parts := strings.Split(token, ".")
		if len(parts) != 3 {
			t.Fatalf("no JWT: %q", token)
		}
		payload, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(payload, &got); err != nil {
			t.Fatal(err)
		}
		now := float64(time.Now().Unix())
		want := map[string]any{
			"iss": "taskrun.invalid", "sub": "here:default:parent:g:t:aws", "aud": []any{"a", "b"},
			"iat": now, "nbf": now, "exp": now + 3600, "jti": got["jti"],
			"nomad_namespace": "default", "nomad_job_id": "parent", "nomad_allocation_id": "alloc-id", "nomad_task": "t",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestATaskThatSeesNoneHasNoHook(t *testing.T) {
	t.Parallel()
	if h := New(newTask(t, nil, &api.WorkloadIdentity{Name: "x"})); h != nil {
		t.Errorf("got %v", h)
	}
}

// TestRenewal lets half of the time of tokens pass again and again.
func TestRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &control{begin: time.Now()}
		c.running.Store(true)
		task := newTask(t, c,
			&api.WorkloadIdentity{Name: "noop", File: true, TTL: time.Minute},
			&api.WorkloadIdentity{Name: "restart", Env: true, TTL: 2 * time.Minute, ChangeMode: "restart"},
			&api.WorkloadIdentity{Name: "signal", File: true, Filepath: "local/token", TTL: 2 * time.Minute, ChangeMode: "signal", ChangeSignal: "SIGHUP"})
		h := New(task)
		before := start(t, h)["restart"]
		noop, signal := read(t, task, "secrets/nomad_noop.jwt"), read(t, task, "local/token")
		<-time.After(61 * time.Second)
		synctest.Wait()
		if read(t, task, "secrets/nomad_noop.jwt") == noop || read(t, task, "local/token") == signal || start(t, h)["restart"] == before {
			t.Error("a token was not renewed")
		}
		want := map[string]bool{
			"1m0s Restart Signaled: Identity[restart]: new token acquired":         true,
			"1m0s Signaling: Identity[signal]: new Identity token acquired SIGHUP": true,
		}
		c.mu.Lock()
		lines := slices.Clone(c.lines)
		c.mu.Unlock()
		for _, line := range lines {
			if !want[line] {
				t.Errorf("unexpected: %s", line)
			}
			delete(want, line)
		}
		if len(want) > 0 {
			t.Errorf("missing: %v", want)
		}
		c.running.Store(false)
		<-time.After(time.Minute)
		if err := h.(hooks.TaskStop).Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
