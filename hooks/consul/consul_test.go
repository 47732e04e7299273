package consul

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/allocdir"
	"taskrun/hooks"
)

func newTask(t *testing.T, task *api.Task) hooks.Task {
	t.Helper()
	dir := allocdir.At(t.TempDir())
	t.Cleanup(func() { _ = dir.Close() })
	if err := errors.Join(dir.Build(), dir.BuildTask(task.Name, nil)); err != nil {
		t.Fatal(err)
	}
	return hooks.Task{Task: task, AllocDir: dir.Path(), Dir: dir}
}

func start(t *testing.T, h hooks.TaskHook) (resp hooks.PrestartResponse) {
	t.Helper()
	if err := h.(hooks.TaskPrestart).Prestart(t.Context(), &hooks.PrestartRequest{}, &resp); err != nil {
		t.Fatal(err)
	}
	return resp
}

func read(task hooks.Task, name string) string {
	text, _ := os.ReadFile(filepath.Join(task.AllocDir, task.Task.Name, name))
	return string(text)
}

func token() string { return "the token" }

func TestConsulUsersHaveAToken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		task *api.Task
		want bool
	}{
		"nothing":  {&api.Task{}, false},
		"a block":  {&api.Task{Consul: &api.Consul{}}, true},
		"identity": {&api.Task{Identities: []*api.WorkloadIdentity{{Name: "consul_default"}}}, true},
		"another":  {&api.Task{Identities: []*api.WorkloadIdentity{{Name: "consult"}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.task.Name = "t"
			task := newTask(t, c.task)
			h := New(token)(task)
			if (h != nil) != c.want {
				t.Fatalf("the hook is %v", h)
			}
			if h == nil {
				return
			}
			resp := start(t, h)
			if resp.Env["CONSUL_TOKEN"] != "the token" || resp.Env["CONSUL_HTTP_TOKEN"] != "the token" || len(resp.Env) != 2 {
				t.Errorf("variables %v", resp.Env)
			}
			if got := read(task, "secrets/consul_token"); got != "the token" {
				t.Errorf("file %q", got)
			}
		})
	}
}

// If the owner of the file does not exist, there is no token.
func TestUnknownUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root gives files to another user")
	}
	h := New(token)(newTask(t, &api.Task{Name: "t", User: "no-such-user", Consul: &api.Consul{}}))
	if err := h.(hooks.TaskPrestart).Prestart(t.Context(), &hooks.PrestartRequest{}, &hooks.PrestartResponse{}); err == nil || !strings.Contains(err.Error(), "no-such-user") {
		t.Errorf("error %v", err)
	}
}
