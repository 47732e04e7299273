// Package secrets is the task hook that fetches the values of a task's secret
// blocks. ${secret.BLOCK.KEY} refers to them; they are neither in variables nor
// on disk. Those of Nomad and Vault come from stubs; there are no plugins for
// others. See
// https://developer.hashicorp.com/nomad/docs/job-specification/secret.
package secrets

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/hooks"
	"taskrun/jobspec/stub"
)

type hook struct {
	task   hooks.Task
	stubs  func() *stub.Set
	values map[string]string // nil before the first start
}

// New returns a factory of hooks; stubs returns the current stubs.
func New(stubs func() *stub.Set) hooks.TaskFactory {
	return func(t hooks.Task) hooks.TaskHook {
		if !slices.ContainsFunc(t.Task.Secrets, Known) {
			return nil
		}
		return &hook{task: t, stubs: stubs}
	}
}

// Known reports whether the provider of a secret has stubs.
func Known(s *api.Secret) bool { return s.Provider == "nomad" || s.Provider == "vault" }

func (h *hook) Name() string { return "secrets" }

// Prestart fetches the secrets before the first start. They do not change
// afterwards.
func (h *hook) Prestart(_ context.Context, _ *hooks.PrestartRequest, resp *hooks.PrestartResponse) error {
	if h.values == nil {
		values, err := h.get()
		if err != nil {
			return err
		}
		h.values = values
	}
	resp.Secrets = h.values
	return nil
}

func (h *hook) get() (map[string]string, error) {
	all := map[string]string{}
	stubs := h.stubs()
	for _, s := range h.task.Task.Secrets {
		if !Known(s) {
			continue
		}
		values, ok := Lookup(stubs, h.task.Job, s)
		if !ok {
			return nil, fmt.Errorf("secret %q: %s is not set: no stub defines it; add to %s: %s", s.Name, s.Path,
				cmp.Or(stubs.File, stub.DefaultName+" beside the job file"), Need(h.task.Job, s).Block())
		}
		for key, value := range values {
			all["secret."+s.Name+"."+key] = value
		}
	}
	return all, nil
}

// Lookup returns the values of a secret, if a stub defines it.
func Lookup(stubs *stub.Set, job *api.Job, s *api.Secret) (map[string]string, bool) {
	if s.Provider == "nomad" {
		return stubs.Variable(namespace(job, s), s.Path)
	}
	secret, ok := stubs.Secret(s.Path)
	values := make(map[string]string, len(secret.Data))
	for key, value := range secret.Data {
		values[key] = text(value)
	}
	return values, ok
}

// Need returns the stub that a secret needs.
func Need(job *api.Job, s *api.Secret) stub.Need {
	if s.Provider == "nomad" {
		return stub.Need{Kind: stub.NomadVariable, Label: stub.VariableLabel(s.Path, namespace(job, s))}
	}
	return stub.Need{Kind: stub.VaultSecret, Label: s.Path}
}

func namespace(job *api.Job, s *api.Secret) string {
	if given, ok := s.Config["namespace"].(string); ok && given != "" {
		return given
	}
	if job.Namespace != nil && *job.Namespace != "" {
		return *job.Namespace
	}
	return "default"
}

// text returns a value as text for a reference: strings unchanged, others as
// JSON.
func text(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case nil:
		return ""
	default:
		encoded, err := json.Marshal(value)
		if err != nil {
			return ""
		}
		return string(encoded)
	}
}
