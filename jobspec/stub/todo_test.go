package stub_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

// placeholders has each kind of block with a placeholder, and without one.
const placeholders = `
variables {
  tag = TODO("the tag")
}
nomad_variable "/app/" {
  password = TODO("password")
  user     = "me"
}
nomad_variable "app@prod" { password = "pw" }
nomad_variable "app/x@prod" { password = TODO("prod") }
consul_key "/web/limit" { value = TODO("limit", 10) }
consul_key "web/other" { value = "1" }
vault_secret "/kv/data/db/" { pw = TODO("pw") }
vault_secret "kv/data/other" { pw = "pw" }
service "db" {
  address = "10.0.0.1"
  port    = TODO("db", 1)
}
service "db" { port = 5432 }
service "api" { port = 80 }
host_volume "certs" { path = TODO("certs") }
host_volume "data" { path = "/data" }
artifact "https://a/x" {
  headers {
    A = TODO("token")
  }
}
artifact "https://b/x" { source = "/x" }
node {
  name       = TODO("name")
  class      = TODO("class")
  pool       = "default"
  meta       = { "rack" = TODO("rack"), zone = "z" }
  attributes {
    driver = TODO("driver")
    cpu    = "1"
  }
}
vault { token = TODO("vault") }
consul { token = TODO("consul") }
task "a/b/c" { user = TODO("user") }
`

// has describes what a set contains.
func has(s *stub.Set) (list []string) {
	for _, v := range s.VariablePaths("*", "") {
		list = append(list, "variable "+stub.VariableLabel(v.Path, v.Namespace))
	}
	for _, key := range s.Keys("") {
		value, _ := s.Key(key)
		list = append(list, "key "+key+" = "+value)
	}
	for _, path := range s.SecretPaths() {
		list = append(list, "secret "+path)
	}
	for _, service := range s.Services {
		list = append(list, "service "+service.ID())
	}
	for _, name := range slices.Sorted(maps.Keys(s.HostVolumes)) {
		list = append(list, "volume "+name)
	}
	for _, a := range s.Artifacts {
		list = append(list, "artifact "+a.Label)
	}
	n := s.Node
	list = append(list, "node "+n.Name+","+n.Class+","+n.Pool)
	for _, values := range []map[string]string{n.Meta, n.Attributes} {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			list = append(list, name+" = "+values[name])
		}
	}
	return append(list, "tokens "+s.VaultToken+","+s.ConsulToken, "variable of jobs "+s.Values["tag"].Value.AsString(), "user "+*s.Tasks[0].User)
}

// A rehearsal gets the values of placeholders; a run that starts tasks gets none of
// them.
func TestFilled(t *testing.T) {
	t.Parallel()
	set := parse(t, placeholders)
	filled := set.Filled()
	for _, c := range []struct {
		set  *stub.Set
		want []string
	}{
		{filled, []string{
			"variable app@prod", "key web/other = 1", "secret kv/data/other", "service _local-db-127.0.0.1:5432", "service _local-api-127.0.0.1:80",
			"volume data", "artifact https://b/x", "node ,,default", "zone = z", "cpu = 1", "tokens taskrun-local-token,taskrun-local-token",
			"variable of jobs TODO-the-tag", "user TODO-user",
		}},
		{set, []string{
			"variable app", "variable app@prod", "variable app/x@prod", "key web/limit = 10", "key web/other = 1", "secret kv/data/db", "secret kv/data/other",
			"service _local-db-10.0.0.1:1", "service _local-db-127.0.0.1:5432", "service _local-api-127.0.0.1:80", "volume certs", "volume data",
			"artifact https://a/x", "artifact https://b/x", "node TODO-name,TODO-class,default", "rack = TODO-rack", "zone = z", "cpu = 1", "driver = TODO-driver",
			"tokens TODO-vault,TODO-consul", "variable of jobs TODO-the-tag", "user TODO-user",
		}},
	} {
		if diff := cmp.Diff(c.want, has(c.set)); diff != "" {
			t.Errorf("filled %v (-want +got):\n%s", c.set.IsFilled(), diff)
		}
	}
	if !filled.IsFilled() || set.IsFilled() || !stub.None().Filled().IsFilled() {
		t.Errorf("filled %v, before %v", filled.IsFilled(), set.IsFilled())
	}
}

// A need finds the placeholders that it would get the value of.
func TestUnfilled(t *testing.T) {
	t.Parallel()
	set := parse(t, placeholders)
	for _, c := range []struct {
		need stub.Need
		list bool
		want []string // names
	}{
		{stub.Need{Kind: stub.NomadVariable, Label: "app"}, false, []string{"password"}},
		{stub.Need{Kind: stub.NomadVariable, Label: "app/x"}, false, nil},
		{stub.Need{Kind: stub.NomadVariable, Label: "app/x@prod"}, false, []string{"prod"}},
		{stub.Need{Kind: stub.NomadVariable, Label: "ap"}, true, []string{"password"}},
		{stub.Need{Kind: stub.NomadVariable, Label: "ap@prod"}, true, []string{"prod"}},
		{stub.Need{Kind: stub.NomadVariable, Label: "ap@*"}, true, []string{"password", "prod"}},
		{stub.Need{Kind: stub.NomadVariable, Label: "b@*"}, true, nil},
		{stub.Need{Kind: stub.ConsulKey, Label: "/web/limit"}, false, []string{"limit"}},
		{stub.Need{Kind: stub.ConsulKey, Label: "web"}, false, nil},
		{stub.Need{Kind: stub.ConsulKey, Label: "web"}, true, []string{"limit"}},
		{stub.Need{Kind: stub.VaultSecret, Label: "kv/db"}, false, []string{"pw"}},
		{stub.Need{Kind: stub.VaultSecret, Label: "kv/other"}, false, nil},
		{stub.Need{Kind: stub.VaultSecret, Label: "kv/metadata"}, true, []string{"pw"}},
		{stub.Need{Kind: stub.VaultSecret, Label: "old"}, true, nil},
		{stub.Need{Kind: stub.ServiceBlock, Label: "db"}, false, []string{"db"}},
		{stub.Need{Kind: stub.ServiceBlock, Label: "api"}, false, nil},
		{stub.Need{Kind: stub.VolumeBlock, Label: "certs"}, false, []string{"certs"}},
		{stub.Need{Kind: stub.ArtifactBlock, Label: "https://a/x"}, false, []string{"token"}},
		{stub.Need{Kind: stub.NodeBlock, Label: "node.unique.name"}, false, []string{"name"}},
		{stub.Need{Kind: stub.NodeBlock, Label: "node.class"}, false, []string{"class"}},
		{stub.Need{Kind: stub.NodeBlock, Label: "meta.rack"}, false, []string{"rack"}},
		{stub.Need{Kind: stub.NodeBlock, Label: "meta.zone"}, false, nil},
		{stub.Need{Kind: stub.NodeBlock, Label: "attr.driver"}, false, []string{"driver"}},
		{stub.Need{Kind: "vault"}, false, []string{"vault"}},
		{stub.Need{Kind: "consul"}, false, []string{"consul"}},
		{stub.Need{Kind: "task", Label: "a/b/c"}, false, []string{"user"}},
	} {
		var names []string
		for _, todo := range set.Unfilled(c.need, c.list) {
			names = append(names, todo.Name)
		}
		if diff := cmp.Diff(c.want, names); diff != "" {
			t.Errorf("%v, list %v (-want +got):\n%s", c.need, c.list, diff)
		}
	}
}

// Placeholders can be parts of names of images, of paths and of URLs.
func TestTextsOfPlaceholders(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"db_password": "TODO-db_password", "Az-09.x": "TODO-Az-09.x", "a b/c:ü": "TODO-a-b-c--", "": "TODO-",
	} {
		if got := stub.PlaceholderText(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// A new source drops the credentials of the old one, and changed values have the
// place of its block.
func TestArtifactsAreChanged(t *testing.T) {
	t.Parallel()
	file, diagnostics := jobspec.Parse(jobspec.Source{Name: "x.nomad.hcl", Text: []byte(`
		job "x" {
		  group "g" {
		    task "t" {
		      driver = "raw_exec"
		      artifact {
		        source = "git@old:o/r"
		        options {
		          sshkey = "old"
		          ref    = "main"
		        }
		      }
		      artifact {
		        source = "https://a/x"
		        options {
		          checksum = "old"
		        }
		        headers {
		          A = "old"
		        }
		      }
		      artifact {
		        source = "https://other/x"
		      }
		    }
		  }
		}`)}, jobspec.Options{})
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	set := parse(t, `
artifact "git@old:o/r" {
  source = "https://new/r"
  options {
    depth = 1
  }
  headers {
    C = "new"
  }
}
artifact "https://a/x" {
  headers {
    B = "new"
  }
}`)
	before := file.Positions.At("job.group[0].task[0].artifact[1].options.checksum")
	first := file.Job.TaskGroups[0].Tasks[0].Artifacts[0].GetterOptions
	kept := maps.Clone(first)
	set.Apply(file.Job, file.Positions)
	if diff := cmp.Diff(kept, first); diff != "" {
		t.Errorf("options that another copy of the job may share (-want +got):\n%s", diff)
	}
	type artifact struct {
		source           string
		options, headers map[string]string
	}
	var got []artifact
	for _, a := range file.Job.TaskGroups[0].Tasks[0].Artifacts {
		got = append(got, artifact{*a.GetterSource, a.GetterOptions, a.GetterHeaders})
	}
	want := []artifact{
		{"https://new/r", map[string]string{"ref": "main", "depth": "1"}, map[string]string{"C": "new"}},
		{"https://a/x", map[string]string{"checksum": "old"}, map[string]string{"A": "old", "B": "new"}},
		{"https://other/x", nil, nil},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(artifact{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for path, line := range map[jobspec.Path]int{"[0].source": 2, "[0].options.depth": 2, "[1].headers.B": 11, "[1].options.checksum": before.Start.Line} {
		at := file.Positions.At("job.group[0].task[0].artifact" + path)
		if at.Start.Line != line || (at.File == set.File) == (line == before.Start.Line) {
			t.Errorf("%s is at %v, not in line %d", path, at, line)
		}
	}
}
