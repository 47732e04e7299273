package stub_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec/stub"
)

// A label may be written in several ways, and means one block.
func TestNeedOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, label, want string }{
		{stub.NomadVariable, "/a/b/", "a/b"},
		{stub.NomadVariable, "a@default", "a"},
		{stub.NomadVariable, "a@prod", "a@prod"},
		{stub.ConsulKey, "/a/", "a/"},
		{stub.VaultSecret, "/a/b/", "a/b"},
		{stub.ServiceBlock, "/a/", "/a/"},
	} {
		if got := stub.NeedOf(c.kind, c.label); got != (stub.Need{Kind: c.kind, Label: c.want}) {
			t.Errorf("%s %q: %+v", c.kind, c.label, got)
		}
	}
}

// A block fits what asks for its label, or for a list of labels.
func TestFits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, own, asked string
		alone, list      bool
	}{
		{stub.NomadVariable, "a/b", "a/b", true, true},
		{stub.NomadVariable, "a/b", "/a/b@default", true, true},
		{stub.NomadVariable, "a/b", "a", false, true},
		{stub.NomadVariable, "a/b", "a/b@prod", false, false},
		{stub.NomadVariable, "a/b@prod", "a", false, false},
		{stub.NomadVariable, "a/b@prod", "a@*", false, true},
		{stub.NomadVariable, "a/b", "b", false, false},
		{stub.ConsulKey, "a/b", "/a/b", true, true},
		{stub.ConsulKey, "a/b", "a", false, true},
		{stub.ConsulKey, "a/b", "b", false, false},
		{stub.VaultSecret, "kv/data/x", "kv/data/x", true, false},
		{stub.VaultSecret, "kv/data/x", "kv/x", true, false},
		{stub.VaultSecret, "kv/data/x", "kv/metadata", false, true},
		{stub.VaultSecret, "kv/data/x", "kv", false, true},
		{stub.VaultSecret, "old/x", "old", false, true},
		{stub.VaultSecret, "old/x", "other", false, false},
		{stub.ServiceBlock, "db", "db", true, true},
		{stub.ServiceBlock, "db", "d", false, true},
		{stub.ServiceBlock, "db", "web", false, false},
	} {
		need := stub.Need{Kind: c.kind, Label: c.own}
		if alone, list := need.Fits(c.asked, false), need.Fits(c.asked, true); alone != c.alone || list != c.list {
			t.Errorf("%s %q for %q: %t, for a list: %t", c.kind, c.own, c.asked, alone, list)
		}
	}
}

// The services that a sidecar or an ingress gateway reaches are those of its
// upstreams and listeners.
func TestUpstreams(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		connect *api.ConsulConnect
		want    []string
	}{
		"no connect":     {nil, nil},
		"native":         {&api.ConsulConnect{Native: true}, nil},
		"a sidecar":      {&api.ConsulConnect{SidecarService: &api.ConsulSidecarService{}}, nil},
		"upstreams":      {&api.ConsulConnect{SidecarService: &api.ConsulSidecarService{Proxy: &api.ConsulProxy{Upstreams: []*api.ConsulUpstream{{DestinationName: "a"}, {DestinationName: "b"}}}}}, []string{"a", "b"}},
		"a mesh gateway": {&api.ConsulConnect{Gateway: &api.ConsulGateway{Mesh: &api.ConsulMeshConfigEntry{}}}, nil},
		"an ingress gateway": {&api.ConsulConnect{Gateway: &api.ConsulGateway{Ingress: &api.ConsulIngressConfigEntry{Listeners: []*api.ConsulIngressListener{
			{Services: []*api.ConsulIngressService{{Name: "a"}, {Name: "*"}}}, {Services: []*api.ConsulIngressService{{Name: "b"}}},
		}}}}, []string{"a", "b"}},
	} {
		if got := stub.Upstreams(&api.Service{Connect: c.connect}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// The environment and placeholders are values, or errors about their names.
func TestFunctions(t *testing.T) {
	for text, want := range map[string]string{
		`env("TASKRUN_TEST_VALUE")`:             "from the environment",
		`TODO("a b/c_d.e-F9")`:                  "TODO-a-b-c_d.e-F9",
		`TODO("a", "b")`:                        "b",
		`env("TASKRUN_TEST_NONE")`:              `the environment variable "TASKRUN_TEST_NONE" is not set`,
		`TODO("a", "b", "c")`:                   "write TODO(name) or TODO(name, value)",
		`"${TODO("x")}-${upper(TODO("name"))}"`: "TODO-x-TODO-NAME",
	} {
		t.Setenv("TASKRUN_TEST_VALUE", "from the environment")
		w, diagnostics := stub.Parse("taskrun.hcl", []byte(`consul_key "a" { value = `+text+` }`))
		got := diagnostics.Error()
		if w != nil {
			got, _ = w.Key("a")
		}
		if got != want && !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// Paths of artifacts and volumes start in the folder of the file; URLs and
// absolute paths stay. Faults of artifacts have their places.
func TestArtifacts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "taskrun.hcl")
	for source, want := range map[string]string{
		"./dist/app": filepath.Join(dir, "dist/app"), "app": filepath.Join(dir, "app"), "/abs/app": "/abs/app", "https://h/app": "https://h/app", "github.com/o/r": "github.com/o/r",
	} {
		text := fmt.Sprintf("artifact \"s3::x\" {\n  source = %q\n}\nhost_volume \"v\" {\n  path = \"sub\"\n}", source)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		w, diagnostics := stub.Read(name)
		if diagnostics.HasErrors() {
			t.Errorf("%s: %v", source, diagnostics)
			continue
		}
		if got := w.Artifacts[0]; got.Source != want || got.Label != "s3::x" || got.At.Start.Line != 1 {
			t.Errorf("%s: %+v, want %s", source, got, want)
		}
		if path, readOnly, ok := w.HostVolume("v"); path != filepath.Join(dir, "sub") || readOnly || !ok {
			t.Errorf("the volume is at %q, %t, %t", path, readOnly, ok)
		}
	}
	for text, want := range map[string]string{
		`artifact "a" { source = "" }`: "taskrun.hcl:1,25: the source is empty",
		"artifact \"a\" {\n source = \"x\"\n}\nartifact \"b\" {\n source = \"x\"\n}\nartifact \"a\" {\n source = \"y\"\n}": `taskrun.hcl:7,1: artifact "a" is defined twice`,
		`group "g" { count = -1 }`: "taskrun.hcl:1,21: invalid count: -1 is negative",
	} {
		if w, diagnostics := stub.Parse("taskrun.hcl", []byte(text)); w != nil || !strings.Contains(diagnostics.Error(), want) {
			t.Errorf("%q: %v, want %s", text, diagnostics, want)
		}
	}
}

// Variables are found by namespace and path, and can be replaced as a whole.
func TestVariablesOfASet(t *testing.T) {
	t.Parallel()
	w := parse(t, "nomad_variable \"b\" { x = 1 }\nnomad_variable \"a/c\" { x = 2 }\nnomad_variable \"a\" { x = 3 }\nnomad_variable \"a@prod\" { x = 4 }")
	list := func(found []*api.VariableMetadata) (paths []string) {
		for _, v := range found {
			paths = append(paths, v.Path+"@"+v.Namespace)
		}
		return paths
	}
	for _, c := range []struct {
		namespace, prefix string
		want              []string
	}{
		{"default", "", []string{"a@default", "a/c@default", "b@default"}},
		{"default", "a", []string{"a@default", "a/c@default"}},
		{"prod", "", []string{"a@prod"}},
		{"*", "a", []string{"a@default", "a@prod", "a/c@default"}},
		{"other", "", nil},
	} {
		if got := list(w.VariablePaths(c.namespace, c.prefix)); !slices.Equal(got, c.want) {
			t.Errorf("%s, %q: %q, want %q", c.namespace, c.prefix, got, c.want)
		}
	}
	all := w.Variables()
	var got []string
	for _, v := range all {
		got = append(got, v.Path+"@"+v.Namespace+"="+v.Items["x"])
	}
	if want := []string{"a@default=3", "a/c@default=2", "b@default=1", "a@prod=4"}; !slices.Equal(got, want) {
		t.Errorf("all are %q, want %q", got, want)
	}
	other := w.WithVariables([]*api.Variable{{Namespace: "default", Path: "new", Items: api.VariableItems{"x": "5"}}})
	if items, ok := other.Variable("default", "new"); !ok || items["x"] != "5" || len(other.Variables()) != 1 || len(w.Variables()) != 4 {
		t.Errorf("replaced by %v, %t; %d and %d variables", items, ok, len(other.Variables()), len(w.Variables()))
	}
}
