// Package consul is the task hook that gives a task that uses Consul its token,
// as variables and as a file. The token comes from the stubs. No Consul accepts
// it, unless the user has put a real one there. See
// https://developer.hashicorp.com/nomad/docs/job-specification/consul.
package consul

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

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
		if !uses(t.Task) {
			return nil
		}
		return &hook{t, token}
	}
}

// uses reports whether a task has an identity for Consul: through a consul
// block, or an identity named after a cluster.
func uses(t *api.Task) bool {
	return t.Consul != nil || slices.ContainsFunc(t.Identities, func(id *api.WorkloadIdentity) bool {
		return strings.HasPrefix(id.Name, "consul_")
	})
}

func (h *hook) Name() string { return "consul_task" }

// Prestart provides the token.
func (h *hook) Prestart(_ context.Context, _ *hooks.PrestartRequest, resp *hooks.PrestartResponse) error {
	token := h.token()
	resp.Env = map[string]string{"CONSUL_TOKEN": token, "CONSUL_HTTP_TOKEN": token}
	owner, err := allocdir.OwnerOf(h.task.Task.User)
	if err != nil {
		return err
	}
	return h.task.Dir.WriteSecret(h.task.Task.Name, filepath.Join("secrets", "consul_token"), []byte(token), owner)
}
