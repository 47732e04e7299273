// Package vault is the task hook that gives a task with a vault block its
// token, as a variable and as a file. The token comes from the stubs. No Vault
// accepts it, unless the user has put a real one there. See
// https://developer.hashicorp.com/nomad/docs/job-specification/vault.
package vault

import (
	"context"
	"path/filepath"

	"taskrun/engine/leaf/allocdir"
	"taskrun/hooks"
)

type hook struct {
	task  hooks.Task
	token func() string
}

// New returns a factory of hooks; token returns the token of the stubs.
func New(token func() string) hooks.TaskFactory {
	return func(t hooks.Task) hooks.TaskHook {
		if t.Task.Vault == nil {
			return nil
		}
		return &hook{t, token}
	}
}

func (h *hook) Name() string { return "vault" }

// Prestart writes the token where Nomad does. The task can see it, unless the
// block has disable_file.
func (h *hook) Prestart(_ context.Context, _ *hooks.PrestartRequest, resp *hooks.PrestartResponse) error {
	resp.VaultToken = h.token()
	owner, err := allocdir.OwnerOf(h.task.Task.User)
	if err != nil {
		return err
	}
	dir := "secrets"
	if no := h.task.Task.Vault.DisableFile; no != nil && *no {
		dir, owner = "private", nil
	}
	return h.task.Dir.WriteSecret(h.task.Task.Name, filepath.Join(dir, "vault_token"), []byte(resp.VaultToken), owner)
}
