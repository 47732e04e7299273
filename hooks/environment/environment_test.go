package environment_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/hooks"
	"taskrun/hooks/environment"
	"taskrun/jobspec/redact"
	"taskrun/jobspec/taskenv"
)

// builder returns a builder of the environment of a task with an env block.
func builder(block map[string]string) *taskenv.Builder {
	job := &api.Job{ID: new("web"), Name: new("web"), TaskGroups: []*api.TaskGroup{{Name: new("app"), Tasks: []*api.Task{{Name: "t", Env: block}}}}}
	job.Canonicalize()
	group := job.TaskGroups[0]
	node := &taskenv.Node{Datacenter: "dc1", Meta: map[string]string{"rack": "r1", "db_password": "s3cret"}}
	return taskenv.NewBuilder(node, taskenv.AllocInfo{ID: "0b2a9a52-9c2f-4d39-8d5e-5b8f0c2f7d11", Name: "web.app[0]"}, job, group, group.Tasks[0])
}

func TestPublic(t *testing.T) {
	t.Parallel()
	block := map[string]string{
		"MODE": "fast", "URL": "https://user:pw@example.com/x", "DB_PASSWORD": "s3cret", "OF_PASSWORD": "x ${DB_PASSWORD}",
		"OF_BLOCK": "${secret.db.user}", "ADDR": "${NOMAD_IP_x}:1", "OVERRIDDEN": "plain", "LONG": strings.Repeat("x", 4097), "FITS": strings.Repeat("x", 4096),
		"CIRCLE": "${CIRCLE}", "UNKNOWN": "${unknown}", "GIVEN": "x given", "OF_GIVEN": "y ${GIVEN}",
		"OF_NODE": "${node.datacenter} ${meta.rack}", "OF_META": "${meta.db_password}",
	}
	b := builder(block).SetSecrets(map[string]string{"secret.db.user": "s3cret"}).
		SetIdentityToken("", "s3cret").
		SetHookEnv("hook", map[string]string{"FROM_HOOK": "s3cret"})
	b.HostEnv = []string{"PATH=/bin", "LICENSE=s3cret", "MY_API=s3cret"}
	b.VaultToken = "s3cret"
	b.TemplateEnv = map[string]string{"FROM_TEMPLATE": "s3cret", "OVERRIDDEN": "s3cret"}
	env := b.Build()
	list := environment.Public(env, block, []string{"given"})
	got := variables(list)
	if len(got) != len(env.Map()) {
		t.Errorf("%d of %d variables", len(got), len(env.Map()))
	}
	for name, want := range map[string]string{
		"MODE": "fast", "URL": redact.Text(block["URL"]), "DB_PASSWORD": redact.Hidden, "OF_PASSWORD": redact.Hidden, "OF_BLOCK": redact.Hidden,
		"OVERRIDDEN": redact.Hidden, "LONG": "4097 bytes", "FITS": block["FITS"], "PATH": "/bin", "LICENSE": redact.Hidden, "FROM_HOOK": redact.Hidden,
		"FROM_TEMPLATE": redact.Hidden, "NOMAD_TOKEN": redact.Hidden, "VAULT_TOKEN": redact.Hidden, "NOMAD_TASK_NAME": "t", "GIVEN": redact.Hidden, "OF_GIVEN": redact.Hidden, "UNKNOWN": "${unknown}",
		"OF_NODE": "dc1 r1", "OF_META": redact.Hidden,
	} {
		if env.Map()[name] != "" && got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	for name, value := range got {
		if strings.Contains(value, "s3cret") || strings.Contains(value, "pw@") {
			t.Errorf("%s has a secret: %q", name, value)
		}
	}
}

func variables(list []string) map[string]string {
	all := map[string]string{}
	for _, v := range list {
		name, value, _ := strings.Cut(v, "=")
		all[name] = value
	}
	return all
}

// newHook returns the hook of a task in a run of its own, and the file of the run.
func newHook(t testing.TB) (start func(env *taskenv.Env), file string) {
	run := t.TempDir()
	alloc := &event.Alloc{Job: "web", Group: "app", Name: "web.app[0]", ID: "0b2a9a52-9c2f-4d39-8d5e-5b8f0c2f7d11"}
	h := environment.New(nil)(hooks.Task{
		Alloc: alloc, AllocDir: filepath.Join(run, "alloc", alloc.ID), Task: &api.Task{Name: "t", Env: map[string]string{"MODE": "fast"}},
	}).(hooks.TaskPoststart)
	return func(env *taskenv.Env) {
		if err := h.Poststart(t.Context(), &hooks.PoststartRequest{Env: env}); err != nil {
			t.Fatal(err)
		}
	}, filepath.Join(run, environment.File)
}

func TestEnvironmentIsKeptOnceUnlessItChanges(t *testing.T) {
	t.Parallel()
	start, file := newHook(t)
	env := builder(map[string]string{"MODE": "fast"})
	for range 3 {
		start(env.Build())
	}
	other := builder(map[string]string{"MODE": "fast"})
	other.TemplateEnv = map[string]string{"MODE": "slow"}
	start(other.Build())
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var modes []string
	for line := range bytes.Lines(text) {
		var e environment.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		modes = append(modes, variables(e.Env)["MODE"])
	}
	if diff := cmp.Diff([]string{"fast", redact.Hidden}, modes); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for i := range 100 {
		start(builder(map[string]string{"MODE": "fast"}).SetHookEnv("hook", map[string]string{"N" + strings.Repeat("x", i): ""}).Build())
	}
	if text, _ = os.ReadFile(file); bytes.Count(text, []byte("\n")) != 10 {
		t.Errorf("%d entries of one task", bytes.Count(text, []byte("\n")))
	}
}

// Nothing is written to a link or FIFO in place of the file, and the task
// continues.
func TestNothingIsWrittenElsewhere(t *testing.T) {
	t.Parallel()
	start, file := newHook(t)
	elsewhere := filepath.Join(t.TempDir(), "x")
	if err := os.Symlink(elsewhere, file); err != nil {
		t.Fatal(err)
	}
	start(builder(nil).Build())
	if _, err := os.Stat(elsewhere); !os.IsNotExist(err) {
		t.Errorf("the link was followed: %v", err)
	}
}

// The first start of a task, beside many others of the run.
func BenchmarkStart(b *testing.B) {
	builder := builder(map[string]string{"MODE": "fast"})
	builder.HostEnv = os.Environ()
	env := builder.Build()
	run := b.TempDir()
	for b.Loop() {
		h := environment.New(nil)(hooks.Task{Alloc: &event.Alloc{ID: "1"}, AllocDir: filepath.Join(run, "alloc", "1"), Task: &api.Task{Name: "t"}}).(hooks.TaskPoststart)
		if err := h.Poststart(b.Context(), &hooks.PoststartRequest{Env: env}); err != nil {
			b.Fatal(err)
		}
	}
}
