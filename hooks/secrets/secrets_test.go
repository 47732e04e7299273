package secrets_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/hooks"
	"taskrun/hooks/secrets"
	"taskrun/jobspec/stub"
)

func parsed(t *testing.T, text string) *stub.Set {
	t.Helper()
	w, diagnostics := stub.Parse("taskrun.hcl", []byte(text))
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	return w
}

const defined = `
nomad_variable "db" { user = "u" }
nomad_variable "db@prod" { user = "p" }
vault_secret "kv/data/x" {
  n    = 1.50
  list = ["a", true]
  none = null
}`

func TestValuesAreReferredToByBlockAndKey(t *testing.T) {
	t.Parallel()
	w := parsed(t, defined)
	h := secrets.New(func() *stub.Set { return w })(hooks.Task{Job: &api.Job{}, Task: &api.Task{Secrets: []*api.Secret{
		{Name: "a", Provider: "nomad", Path: "db"},
		{Name: "b", Provider: "nomad", Path: "db", Config: map[string]any{"namespace": "prod"}},
		{Name: "c", Provider: "vault", Path: "kv/x"},
		{Name: "d", Provider: "plugin", Path: "x"},
	}}})
	for range 2 {
		var resp hooks.PrestartResponse
		if err := h.(hooks.TaskPrestart).Prestart(t.Context(), nil, &resp); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			"secret.a.user": "u", "secret.b.user": "p", "secret.c.n": "1.5", "secret.c.list": `["a",true]`, "secret.c.none": "",
		}
		if diff := cmp.Diff(want, resp.Secrets); diff != "" {
			t.Error(diff)
		}
		w = stub.None() // secrets do not change after the first start
	}
}

func TestSecretWithoutAStub(t *testing.T) {
	t.Parallel()
	w := parsed(t, defined)
	for _, c := range []struct {
		secret api.Secret
		want   string
	}{
		{api.Secret{Name: "s", Provider: "nomad", Path: "no"}, `secret "s": no is not set: no stub defines it; add to taskrun.hcl: nomad_variable "no@team" { NAME = "…" }`},
		{api.Secret{Name: "s", Provider: "vault", Path: "kv/no"}, `add to taskrun.hcl: vault_secret "kv/no" { NAME = "…" }`},
	} {
		h := secrets.New(func() *stub.Set { return w })(hooks.Task{
			Job: &api.Job{Namespace: new("team")}, Task: &api.Task{Secrets: []*api.Secret{&c.secret}},
		})
		err := h.(hooks.TaskPrestart).Prestart(t.Context(), nil, &hooks.PrestartResponse{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestNoHookWithoutSecrets(t *testing.T) {
	t.Parallel()
	task := &api.Task{Secrets: []*api.Secret{{Name: "d", Provider: "plugin"}}}
	if h := secrets.New(stub.None)(hooks.Task{Task: task}); h != nil {
		t.Errorf("got %v", h)
	}
}
