package stub_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

const whole = `
variables {
  tag   = "dev"
  count = 2
}
nomad_variable "nomad/jobs/web" {
  password = "pw"
  port     = 80
}
nomad_variable "/nomad/jobs/web/@prod" {
  password = "other"
}
consul_key "/web/greeting" {
  value = "hello"
}
consul_key "web/limit" {
  value = 10
}
vault_secret "kv/data/web" {
  api_key = file("key.txt")
  list    = ["a", 1, true, null]
}
vault_secret "kv/data/team/db" {}
vault_secret "old/x" {
  a = "$${kept}"
}
service "db" {
  address = "10.0.0.1"
  port    = 5432
  tags    = ["primary"]
  meta {
    zone = "z"
  }
}
service "db" {
  provider = "nomad"
  port     = 1
}
host_volume "certs" {
  path      = "./certs"
  read_only = true
}
node {
  class      = "ssd"
  meta       = { "rack" = "r1" }
  attributes = { "driver.docker" = "1" }
}
vault {
  token = "mine"
}
task "web/app/server" {
  driver = "raw_exec"
  user   = ""
  config {
    command = "./server"
    args    = ["-p", "${NOMAD_PORT_http}"]
  }
  env {
    LEVEL = "debug"
  }
}
`

func parse(t *testing.T, text string) *stub.Set {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "key.txt"), []byte("secret key"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, diagnostics := stub.Parse(filepath.Join(dir, "taskrun.hcl"), []byte(text))
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	return w
}

func TestWholeFile(t *testing.T) {
	t.Parallel()
	w := parse(t, whole)
	dir := filepath.Dir(w.File)

	if v := w.Values["tag"]; v.Value.AsString() != "dev" || v.At.Start.Line != 3 {
		t.Errorf("variable tag: %v", v)
	}
	items, _ := w.Variable("default", "nomad/jobs/web")
	other, _ := w.Variable("prod", "nomad/jobs/web")
	if items["password"] != "pw" || items["port"] != "80" || other["password"] != "other" {
		t.Errorf("Nomad variables: %v %v", items, other)
	}
	var paths []string
	for _, v := range w.VariablePaths("*", "nomad/") {
		paths = append(paths, v.Path+"@"+v.Namespace)
	}
	if want := []string{"nomad/jobs/web@default", "nomad/jobs/web@prod"}; !slices.Equal(paths, want) {
		t.Errorf("paths %v", paths)
	}
	if v, ok := w.Key("web/limit"); v != "10" || !ok {
		t.Errorf("key: %q %v", v, ok)
	}
	if got := w.Keys("web/"); !slices.Equal(got, []string{"web/greeting", "web/limit"}) {
		t.Errorf("keys %v", got)
	}
	for path, want := range map[string]bool{"kv/data/web": true, "kv/web": true, "kv/team/db": true, "old/x": true, "old": false, "kv/none": false} {
		if s, ok := w.Secret(path); ok != want || ok && s.KV2 != strings.HasPrefix(path, "kv") {
			t.Errorf("secret %q: %v %v", path, s, ok)
		}
	}
	if s, _ := w.Secret("kv/web"); s.Data["api_key"] != "secret key" {
		t.Errorf("secret: %v", s.Data)
	}
	if s, _ := w.Secret("old/x"); s.Data["a"] != "${kept}" {
		t.Errorf("secret: %v", s.Data)
	}
	if got := w.SecretNames("kv"); !slices.Equal(got, []string{"team/", "web"}) {
		t.Errorf("secrets %v", got)
	}
	want := []stub.Service{
		{Name: "db", Address: "10.0.0.1", Port: 5432, Tags: []string{"primary"}, Meta: map[string]string{"zone": "z"}},
		{Name: "db", Provider: "nomad", Address: "127.0.0.1", Port: 1},
	}
	if diff := cmp.Diff(want, w.Services); diff != "" {
		t.Error(diff)
	}
	if path, readOnly, ok := w.HostVolume("certs"); path != filepath.Join(dir, "certs") || !readOnly || !ok {
		t.Errorf("host volume: %q %v %v", path, readOnly, ok)
	}
	if w.Node.Class != "ssd" || w.Node.Meta["rack"] != "r1" || w.Node.Attributes["driver.docker"] != "1" {
		t.Errorf("node: %v", w.Node)
	}
	if w.VaultToken != "mine" || w.ConsulToken == "" {
		t.Errorf("tokens %q %q", w.VaultToken, w.ConsulToken)
	}
}

func TestNoStubs(t *testing.T) {
	t.Parallel()
	for _, w := range []*stub.Set{{}, stub.None()} {
		_, variable := w.Variable("default", "x")
		_, key := w.Key("x")
		_, secret := w.Secret("x")
		_, _, volume := w.HostVolume("x")
		if variable || key || secret || volume || len(w.Keys("")) > 0 || len(w.SecretNames("")) > 0 || len(w.VariablePaths("*", "")) > 0 {
			t.Errorf("%v defines something", w)
		}
		if used := w.Apply(&api.Job{}, nil).Tasks; len(used) > 0 {
			t.Errorf("%v changes something", w)
		}
	}
}

// TestFaults compares the errors of a file with their text for users, which
// never contains the word SECRET.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"an unknown block", `consul_kye "a" { value = 1 }`, `taskrun.hcl:1,1: unknown block "consul_kye" in a stubs file`},
		{"an unknown attribute", "service \"db\" {\n  prot = 1\n  port = 1\n}", `taskrun.hcl:2,3: unknown attribute "prot" in service`},
		{"no label", `consul_key { value = 1 }`, "this consul_key has no name"},
		{"no value", `consul_key "a" {}`, `"value"`},
		{"a rehearsal without end", "task \"t\" {\n  rehearse {\n    run_for = \"2x\"\n  }\n}", "taskrun.hcl:3,15: invalid duration"},
		{"a watch of nothing", "task \"t\" {\n  watch {\n    paths = []\n  }\n}", "taskrun.hcl:3,13: a watch block needs at least one path"},
		{"a watch without paths", "task \"t\" {\n  watch {\n  }\n}", "taskrun.hcl:2,9: \"paths\" is missing in watch"},
		{"a watch with a malformed pattern", "task \"t\" {\n  watch {\n    paths = [\"[a\"]\n  }\n}", "taskrun.hcl:3,13: invalid pattern \"[a\""},
		{"a watch that ignores nothing", "task \"t\" {\n  watch {\n    paths = [\"a\"]\n    ignore = [\"\"]\n  }\n}", "taskrun.hcl:4,14: invalid pattern \"\""},
		{"a build without a command", "task \"t\" {\n  watch {\n    paths = [\"a\"]\n    build = []\n  }\n}", "taskrun.hcl:4,13: the build has no command"},
		{"an unknown change", "task \"t\" {\n  watch {\n    paths = [\"a\"]\n    on_change = \"reload\"\n  }\n}", "taskrun.hcl:4,17: unknown value \"reload\" of on_change"},
		{"a change by a signal without one", "task \"t\" {\n  watch {\n    paths = [\"a\"]\n    on_change = \"signal\"\n  }\n}", "taskrun.hcl:2,3: on_change = \"signal\" needs a signal"},
		{"a signal without effect", "task \"t\" {\n  watch {\n    paths = [\"a\"]\n    change_signal = \"SIGHUP\"\n  }\n}", "taskrun.hcl:4,21: change_signal has no effect"},
		{"a rehearsal with no exit code", "task \"t\" {\n  rehearse {\n    exit_code = 256\n  }\n}", "taskrun.hcl:3,17: invalid exit code: 256 is not between 0 and 255"},
		{"a number that is not a port", `service "db" { port = 70000 }`, "taskrun.hcl:1,23: invalid port: 70000 is not between 1 and 65535"},
		{"a port of an earlier version", `service "db" { port = 0 }`, `write the port, or TODO("db", 1) for a rehearsal`},
		{"a path of an earlier version", `host_volume "data" { path = "" }`, `taskrun.hcl:1,29: the path of host volume "data" is empty`},
		{"a placeholder of another type", `service "db" { port = TODO("db") }`, `write TODO("db", VALUE) with a value for rehearsals`},
		{"a placeholder for a count", `group "g" { count = TODO("n") }`, "taskrun.hcl:1,21: \"count\" must be a whole number: the value of a placeholder must be of the same type"},
		{"a block of another file", `job "x" {}`, `its blocks are in "taskrun help stubs"`},
		{"a provider", "service \"db\" {\n port = 1\n provider = \"etcd\"\n}", `unknown provider "etcd"`},
		{"a list for a text", `nomad_variable "a" { x = ["SECRET"] }`, "taskrun.hcl:1,26: the value must be a string"},
		{"null", `consul_key "a" { value = null }`, "the value must be a string"},
		{"a reference", `consul_key "a" { value = "SECRET${var.x}" }`, "stubs may not refer to anything"},
		{"a reference in a service", `service "a" { port = NOMAD_PORT_x }`, "stubs may not refer to anything"},
		{"a function that fails", `vault_secret "a" { x = parseint("SECRET", 10) }`, `taskrun.hcl:1,34: function "parseint" cannot work with this`},
		{"a file that is missing", `vault_secret "a" { x = file("none") }`, "none"},
		{"a block in a block of texts", `nomad_variable "a" { x {} }`, "taskrun.hcl:1,22"},
		{"twice", "consul_key \"a\" { value = 1 }\nconsul_key \"/a\" { value = 2 }", `taskrun.hcl:2,1: consul_key "/a" is defined twice`},
		{"a key twice", "consul_key \"a\" { value = 1 }\nconsul_key \"a\" { value = 2 }", `consul_key "a" is defined twice`},
		{"a Nomad variable twice", "nomad_variable \"a\" {}\nnomad_variable \"/a/@default\" {}\nnomad_variable \"a@prod\" {}", `taskrun.hcl:2,1: nomad_variable "/a/@default" is defined twice`},
		{"a secret twice", "vault_secret \"a\" {}\nvault_secret \"/a/\" {}", `taskrun.hcl:2,1: vault_secret "/a/" is defined twice`},
		{"a volume twice", "host_volume \"a\" {\n path = \"/x\"\n}\nhost_volume \"a\" {\n path = \"/y\"\n}", `taskrun.hcl:4,1: host_volume "a" is defined twice`},
		{"a variable twice", "variables {\n a = 1\n}\nvariables {\n a = 2\n}", `taskrun.hcl:`},
		{"a type in a secret", `vault_secret "a" { x = [{ y = number }] }`, "taskrun.hcl:1,"},
		{"no HCL", `consul_key "a" { value = "SECRET }`, "taskrun.hcl:1,"},
		{"no token", `vault {}`, `"token"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, diagnostics := stub.Parse("taskrun.hcl", []byte(c.text))
			got := diagnostics.Error()
			for _, p := range diagnostics {
				got += "\n" + p.Remedy
			}
			if w != nil || !diagnostics.HasErrors() || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if strings.Contains(got, "SECRET") {
				t.Errorf("a value is shown: %q", got)
			}
		})
	}
}

// A block with an error has no second one about the value that it lost.
func TestOneMistakeInABlockIsOneError(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`service "a" { port = x }`: "stubs may not refer to anything", `service "a" { port = "x" }`: `"port" must be a whole number`,
		`host_volume "a" { path = x }`: "stubs may not refer to anything", `host_volume "a" { path = [] }`: `"path" must be a string`,
		`artifact "a" { source = x }`: "stubs may not refer to anything", `artifact "a" { source = [] }`: `"source" must be a string`,
	} {
		if _, diagnostics := stub.Parse("taskrun.hcl", []byte(text)); len(diagnostics) != 1 || diagnostics[0].Summary != want {
			t.Errorf("%s: %v, want %s", text, diagnostics, want)
		}
	}
}

// A need has a name, and an example of its block.
func TestNeeds(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string][2]string{
		stub.ConsulKey:     {"Consul key", `consul_key "x" { value = "…" }`},
		stub.NomadVariable: {"Nomad variable", `nomad_variable "x" { NAME = "…" }`},
		stub.VaultSecret:   {"Vault secret", `vault_secret "x" { NAME = "…" }`},
		stub.ServiceBlock:  {"service", `service "x" { port = … }`},
		stub.VolumeBlock:   {"host volume", `host_volume "x" { path = "…" }`},
		"node":             {"node", `node "x"`},
	} {
		need := stub.Need{Kind: kind, Label: "x"}
		if got := [2]string{need.Words(), need.Block()}; got != want {
			t.Errorf("%s: %q, want %q", kind, got, want)
		}
	}
	for namespace, want := range map[string]string{"": "a", "default": "a", "prod": "a@prod"} {
		if got := stub.VariableLabel("a", namespace); got != want {
			t.Errorf("in %q: %q, want %q", namespace, got, want)
		}
	}
}

// A secret can contain any JSON, with numbers in their original form.
func TestValuesOfSecrets(t *testing.T) {
	t.Parallel()
	w := parse(t, "vault_secret \"a\" {\n x = { b = [1, 2.50, true, null, \"t\", convert([\"s\"], set(string))], c = { d = 1e3 } }\n y = null\n}")
	s, _ := w.Secret("a")
	want := map[string]any{"x": map[string]any{
		"b": []any{json.Number("1"), json.Number("2.5"), true, nil, "t", []any{"s"}}, "c": map[string]any{"d": json.Number("1000")},
	}, "y": nil}
	if diff := cmp.Diff(want, s.Data); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// No message may show what Vault, Nomad variables and tokens hold.
func TestSecretValues(t *testing.T) {
	t.Parallel()
	w := parse(t, `
vault_secret "a" {
  x = { b = [12345, true, "text"], c = { d = "deep" } }
}
vault { token = "vault's" }
nomad_variable "v" { password = "pw" }
consul_key "k" { value = "open" }
`)
	want := []string{"12345", "deep", "pw", stub.None().ConsulToken, "text", "vault's"}
	if diff := cmp.Diff(want, w.SecretValues()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The last rehearsal that matches a task counts; Nomad variables can be
// replaced without changing the original set.
func TestRehearsalsAndReplacedVariables(t *testing.T) {
	t.Parallel()
	w := parse(t, `
task "web" {
  rehearse {
    run_for = "1s"
  }
}
task "b/web" {
  rehearse {
    exit_code = 3
  }
}
task "db" {
  driver = "raw_exec"
}
nomad_variable "v" { a = 1 }
consul_key "k" { value = 2 }
`)
	for task, want := range map[string]*stub.Rehearsal{
		"j/a/web": {RunFor: time.Second}, "j/b/web": {ExitCode: 3}, "j/a/db": nil, "j/a/other": nil,
	} {
		parts := strings.Split(task, "/")
		if diff := cmp.Diff(want, w.Rehearsal(parts[0], parts[1], parts[2])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", task, diff)
		}
	}
	none := stub.None()
	if none.Rehearsal("j", "b", "web") != nil || none.Variables() != nil {
		t.Error("nothing says what a task does")
	}
	other := w.WithVariables([]*api.Variable{{Namespace: "prod", Path: "w", Items: map[string]string{"b": "2"}}})
	var sorted []*api.Variable
	for _, path := range []string{"a", "b", "c", "d", "e", "f"} {
		sorted = append(sorted, &api.Variable{Namespace: "prod", Path: path, Items: map[string]string{"b": "2"}})
	}
	for _, c := range []struct {
		set  *stub.Set
		want []*api.Variable
	}{
		{w, []*api.Variable{{Namespace: "default", Path: "v", Items: map[string]string{"a": "1"}}}},
		{other, []*api.Variable{{Namespace: "prod", Path: "w", Items: map[string]string{"b": "2"}}}},
		{w.WithVariables(sorted), sorted},
	} {
		if diff := cmp.Diff(c.want, c.set.Variables()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if v, ok := c.set.Key("k"); v != "2" || !ok {
			t.Errorf("the key is %q", v)
		}
	}
	for want, s := range map[string]stub.Service{
		"_local-db-10.0.0.1:80": {Name: "db", Address: "10.0.0.1", Port: 80}, "_local-db-[::1]:80": {Name: "db", Address: "::1", Port: 80},
	} {
		if got := s.ID(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestReadNamesTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, stub.DefaultName)
	if _, diagnostics := stub.Read(path); !diagnostics.HasErrors() || !strings.Contains(diagnostics.Error(), "no such file") {
		t.Errorf("a missing file: %v", diagnostics)
	}
	job := filepath.Join(dir, "job.nomad.hcl")
	if got := stub.Find(job); got != "" {
		t.Errorf("found %q", got)
	}
	if err := os.WriteFile(path, []byte("node {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := stub.Find(job); got != path {
		t.Errorf("found %q, not %q", got, path)
	}
	if w, diagnostics := stub.Read(path); len(diagnostics) > 0 || w.File != path {
		t.Errorf("%v %v", w, diagnostics)
	}
	const mib = 1 << 20
	for size, want := range map[int]string{16 * mib: "", 16*mib + 1: "it is larger than 16 MiB"} {
		if err := os.WriteFile(path, bytes.Repeat([]byte(" "), size), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, diagnostics := stub.Read(path); want == "" && diagnostics.HasErrors() || !strings.Contains(diagnostics.Error(), want) {
			t.Errorf("%d bytes: %v", size, diagnostics)
		}
	}
}

func TestOverride(t *testing.T) {
	t.Parallel()
	src := jobspec.Source{Name: "web.nomad.hcl", Text: []byte(`
		job "web" {
		  group "app" {
		    task "server" {
		      driver = "docker"
		      config {
		        image = "x"
		      }
		      env {
		        A     = "1"
		        LEVEL = "info"
		      }
		    }
		    task "proxy" {
		      driver = "docker"
		    }
		  }
		  group "server" {
		    task "x" {
		      driver = "docker"
		    }
		  }
		}`)}
	file, diagnostics := jobspec.Parse(src, jobspec.Options{})
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	w := parse(t, whole+`
		task "server" {
		  env = { B = "2" }
		}
		task "nobody" {}
		task "erver" {}`)
	used := w.Apply(file.Job, file.Positions).Tasks
	if len(used) != 2 || !used[0] || !used[1] {
		t.Errorf("used %v", used)
	}
	server := file.Job.TaskGroups[0].Tasks[0]
	if server.Driver != "raw_exec" || server.Config["image"] != nil || server.Config["command"] != "./server" {
		t.Errorf("driver %q, config %v", server.Driver, server.Config)
	}
	if diff := cmp.Diff([]any{"-p", "${NOMAD_PORT_http}"}, server.Config["args"]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"A": "1", "B": "2", "LEVEL": "debug"}, server.Env); diff != "" {
		t.Error(diff)
	}
	if proxy := file.Job.TaskGroups[0].Tasks[1]; proxy.Driver != "docker" || proxy.Env != nil {
		t.Errorf("another task was changed: %v", proxy)
	}
	found := jobspec.Diagnostics{{Path: "job.group[0].task[0].config.command"}}
	file.Place(found)
	if at := found[0].Range; at.File != w.File {
		t.Errorf("a diagnostic of the new config lies at %v", at)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(`{"consul_key": {"a": {"value": "b"}}}`))
	f.Add([]byte("task \"a\" {\n  config {\n    x = [1, { a = \"${NOMAD_X}\" }]\n  }\n}"))
	f.Add([]byte(`vault_secret "a/data/b" { x = "${1 + 1}" }`))
	f.Add([]byte(`nomad_variable "@@" { x = [for i in range(100000) : i] }`))
	f.Fuzz(func(t *testing.T, text []byte) {
		w, diagnostics := stub.Parse("taskrun.hcl", text)
		if (w == nil) != diagnostics.HasErrors() {
			t.Fatalf("set %v with diagnostics %v", w, diagnostics)
		}
		if w == nil {
			return
		}
		for _, key := range w.Keys("") {
			if _, ok := w.Key(key); !ok {
				t.Errorf("key %q is listed and not there", key)
			}
		}
		for _, v := range w.VariablePaths("*", "") {
			if _, ok := w.Variable(v.Namespace, v.Path); !ok {
				t.Errorf("variable %v is listed and not there", v)
			}
		}
	})
}
