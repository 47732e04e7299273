package validate

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

func TestIdentityRules(t *testing.T) {
	t.Parallel()
	named := func(edit func(*api.WorkloadIdentity)) func(*api.Task) {
		return func(t *api.Task) {
			id := &api.WorkloadIdentity{Name: "aws", Audience: []string{"sts"}, TTL: time.Hour}
			edit(id)
			t.Identities = []*api.WorkloadIdentity{id}
		}
	}
	identities := func(first *api.WorkloadIdentity, more ...*api.WorkloadIdentity) func(*api.Task) {
		return func(t *api.Task) { t.Identity, t.Identities = first, more }
	}
	const at = "job.group[0].task[0].identity"
	checkFaults(t, []fault{
		{name: "valid", task: named(func(id *api.WorkloadIdentity) { id.ChangeMode, id.ChangeSignal = "signal", "sigusr1" })},
		{name: "name", task: named(func(id *api.WorkloadIdentity) { id.Name = "a b" }), want: []string{"error " + at + "[0].name: invalid identity name"}},
		{name: "long name", task: named(func(id *api.WorkloadIdentity) { id.Name = strings.Repeat("a", 129) }), want: []string{"error " + at + "[0].name: invalid identity name"}},
		{name: "empty audience", task: named(func(id *api.WorkloadIdentity) { id.Audience = []string{""} }), want: []string{"error " + at + "[0].aud: audience is empty"}},
		{name: "change mode", task: named(func(id *api.WorkloadIdentity) { id.ChangeMode = "script" }), want: []string{"error " + at + "[0].change_mode: unknown change mode"}},
		{name: "no signal", task: named(func(id *api.WorkloadIdentity) { id.ChangeMode = "signal" }), want: []string{"error " + at + "[0]: change_signal is missing"}},
		{
			name: "signal without its mode", task: named(func(id *api.WorkloadIdentity) { id.ChangeSignal = "SIGHUP" }),
			want: []string{"error " + at + "[0].change_signal: change_signal needs change_mode signal"},
		},
		{name: "ttl", task: named(func(id *api.WorkloadIdentity) { id.TTL = -time.Second }), want: []string{"error " + at + "[0].ttl: ttl is negative"}},
		{name: "filepath", task: named(func(id *api.WorkloadIdentity) { id.Filepath = "local/x" }), want: []string{"error " + at + "[0].filepath: filepath needs file = true"}},
		{
			name: "advice", task: named(func(id *api.WorkloadIdentity) { id.Audience, id.TTL, id.Env = nil, 0, true }),
			want: []string{
				"hint " + at + "[0]: identity has no audience",
				"hint " + at + "[0]: identity does not expire",
				"warning " + at + "[0].env: a renewed token does not reach the task",
			},
		},
		{name: "several audiences", task: named(func(id *api.WorkloadIdentity) { id.Audience = []string{"a", "b"} }), want: []string{"hint " + at + "[0].aud: identity has several audiences"}},
		{name: "default", task: identities(&api.WorkloadIdentity{Env: true})},
		{name: "default with ttl", task: identities(&api.WorkloadIdentity{Name: "default", TTL: time.Hour}), want: []string{"error " + at + ".ttl: the default identity does not expire"}},
		{name: "two defaults", task: identities(&api.WorkloadIdentity{}, &api.WorkloadIdentity{Name: "default"})},
		{
			name: "three defaults", task: identities(&api.WorkloadIdentity{}, &api.WorkloadIdentity{Name: "default"}, &api.WorkloadIdentity{}),
			want: []string{"error " + at + "[1]: task has several default identities"},
		},
	})
}

func TestVaultAndSecretRules(t *testing.T) {
	t.Parallel()
	vault := func(v api.Vault) func(*api.Task) {
		return func(t *api.Task) { t.Vault = &v }
	}
	secrets := func(secrets ...*api.Secret) func(*api.Task) {
		return func(t *api.Task) { t.Secrets = secrets }
	}
	some := map[string]string{"A": "b"}
	checkFaults(t, []fault{
		{name: "vault", task: vault(api.Vault{Role: "r"})},
		{name: "vault change mode", task: vault(api.Vault{ChangeMode: new("script")}), want: []string{inTask + ".vault.change_mode: unknown change mode"}},
		{name: "vault without signal", task: vault(api.Vault{ChangeMode: new("signal"), ChangeSignal: new("")}), want: []string{inTask + ".vault: change_signal is missing"}},
		{name: "vault policies", task: vault(api.Vault{Policies: []string{"p"}}), want: []string{"hint job.group[0].task[0].vault.policies: policies has no effect"}},

		{name: "nomad", task: secrets(&api.Secret{Name: "a", Provider: "nomad", Path: "p", Config: map[string]any{"namespace": "n"}})},
		{name: "plugin", task: secrets(&api.Secret{Name: "a", Provider: "1password", Path: "p", Env: some})},
		{name: "name", task: secrets(&api.Secret{Name: "a-b", Provider: "nomad", Path: "p"}), want: []string{inTask + ".secret[0]: invalid secret name"}},
		{
			name: "twice", task: secrets(&api.Secret{Name: "a", Provider: "nomad", Path: "p"}, &api.Secret{Name: "a", Provider: "nomad", Path: "q"}),
			want: []string{inTask + `.secret[1]: secret "a" is defined twice`},
		},
		{name: "no path and provider", task: secrets(&api.Secret{Name: "a"}), want: []string{inTask + ".secret[0]: secret has no path", inTask + ".secret[0]: secret has no provider"}},
		{name: "nomad with env", task: secrets(&api.Secret{Name: "a", Provider: "nomad", Path: "p", Env: some}), want: []string{inTask + `.secret[0].env: provider "nomad" takes no env`}},
		{
			name: "plugin with config", task: secrets(&api.Secret{Name: "a", Provider: "1password", Path: "p", Config: map[string]any{"a": 1}}),
			want: []string{inTask + `.secret[0].config: provider "1password" takes no config`},
		},
		{name: "vault without its block", task: secrets(&api.Secret{Name: "a", Provider: "vault", Path: "p"}), want: []string{inTask + ".secret[0]: a secret of vault needs a vault block"}},
	})
}
