package vault

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

func TestTokenPlaces(t *testing.T) {
	t.Parallel()
	for _, disabled := range []bool{false, true} {
		task := newTask(t, &api.Task{Name: "t", Vault: &api.Vault{DisableFile: &disabled}})
		if resp := start(t, New(token)(task)); resp.VaultToken != "the token" {
			t.Errorf("token %q", resp.VaultToken)
		}
		if seen := read(task, "secrets/vault_token") == "the token"; seen == disabled {
			t.Errorf("disable_file = %v: the file is there: %v", disabled, seen)
		}
		if private := read(task, "private/vault_token") == "the token"; private != disabled {
			t.Errorf("disable_file = %v: the private file is there: %v", disabled, private)
		}
	}
}

func TestNoHookWithoutVault(t *testing.T) {
	t.Parallel()
	if h := New(token)(newTask(t, &api.Task{Name: "t"})); h != nil {
		t.Errorf("got %v", h)
	}
}

// If the owner of the file does not exist, there is no token.
func TestUnknownUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root gives files to another user")
	}
	h := New(token)(newTask(t, &api.Task{Name: "t", User: "no-such-user", Vault: &api.Vault{}}))
	if err := h.(hooks.TaskPrestart).Prestart(t.Context(), &hooks.PrestartRequest{}, &hooks.PrestartResponse{}); err == nil || !strings.Contains(err.Error(), "no-such-user") {
		t.Errorf("error %v", err)
	}
}
