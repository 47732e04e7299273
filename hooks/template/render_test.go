package template

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/leaktest"
	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
)

const defined = `
nomad_variable "nomad/jobs/job" {
  user     = "web"
  password = "pw"
}
nomad_variable "nomad/jobs/job/g" { a = 1 }
nomad_variable "other@prod" { b = 2 }
consul_key "app/port" { value = 8080 }
consul_key "app/host" { value = "h" }
consul_key "app/deep/x" { value = "y" }
consul_key "empty" { value = "" }
vault_secret "kv/data/web" { token = "v2" }
vault_secret "old/web" {
  token = "v1"
  n     = 3
}
vault_secret "pki/issue/web" {
  certificate = "CERT"
  private_key = "KEY"
  issuing_ca  = "CA"
  ca_chain    = ["ONE", 2, "THREE"]
}
service "db" {
  port = 5432
  tags = ["primary", "b"]
  meta = { zone = "z" }
}
service "db" {
  address = "10.0.0.2"
  port    = 5433
}
service "web" {
  provider = "nomad"
  port     = 80
}
service "hidden" {
  namespace = "elsewhere"
  port      = 1
}
`

// TestFunctions renders a template for each function that reads from a cluster
// or the surroundings of the task, and some others.
func TestFunctions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, template, want string }{
		{"nomadVar", `{{ with nomadVar "nomad/jobs/job" }}{{ .user }}:{{ .password }}{{ end }}`, "web:pw"},
		{"nomadVar keys", `{{ range (nomadVar "nomad/jobs/job").Tuples }}{{ .K }}={{ .V }} {{ end }}`, "password=pw user=web "},
		{"nomadVar metadata", `{{ with nomadVar "nomad/jobs/job" }}{{ .Metadata.Path }}{{ end }}`, "nomad/jobs/job"},
		{"nomadVar with a namespace", `{{ (nomadVar "other@prod").b }}`, "2"},
		{"nomadVar of a computed path", `{{ (nomadVar (printf "nomad/jobs/%s" (env "NOMAD_JOB_ID"))).user }}`, "web"},
		{"nomadVarExists", `{{ nomadVarExists "nomad/jobs/job" }} {{ nomadVarExists "other" }}`, "true false"},
		{"nomadVarList", `{{ range nomadVarList "nomad/" }}{{ . }} {{ end }}`, "nomad/jobs/job nomad/jobs/job/g "},
		{
			"nomadVarList of all namespaces", `{{ range nomadVarList "@*" }}{{ .Path }}@{{ .Namespace }} {{ end }}`,
			"nomad/jobs/job@default nomad/jobs/job/g@default other@prod ",
		},
		{"nomadVarListSafe", `{{ len (nomadVarListSafe "nomad/") }}`, "2"},
		{"nomadService", `{{ range nomadService "db" }}{{ .Address }}:{{ .Port }} {{ .Tags }} {{ end }}`, "10.0.0.2:5433 [] 127.0.0.1:5432 [b primary] "},
		{"nomadService by tag", `{{ range nomadService "primary.db" }}{{ .Port }}{{ end }}`, "5432"},
		{"nomadService of a choice", `{{ len (nomadService 1 "key" "db") }} {{ len (nomadService 5 "key" "db") }}`, "1 2"},
		{"nomadService of none", `{{ range nomadService "none" }}x{{ else }}none{{ end }}`, "none"},
		{"nomadServices", `{{ range nomadServices }}{{ .Name }}{{ .Tags }} {{ end }}`, "db[b primary] web[] "},
		{"key", `{{ key "app/port" }}{{ key "empty" }}`, "8080"},
		{"key with a data center", `{{ key "app/port@dc2" }}`, "8080"},
		{"keyExists", `{{ keyExists "app/port" }} {{ keyExists "no" }}`, "true false"},
		{"keyOrDefault", `{{ keyOrDefault "app/port" "d" }} {{ keyOrDefault "no" "d" }} {{ keyOrDefault "empty" "e" }}`, "8080 d e"},
		{"ls", `{{ range ls "app" }}{{ .Key }}={{ .Value }} {{ end }}`, "host=h port=8080 "},
		{"tree", `{{ range tree "app" }}{{ .Key }}={{ .Value }} {{ end }}`, "deep/x=y host=h port=8080 "},
		{"ls of nothing", `{{ range ls "none" }}x{{ else }}none{{ end }}`, "none"},
		{
			"service", `{{ range service "db" }}{{ .Address }}:{{ .Port }} {{ .Status }} {{ .ServiceMeta.zone }};{{ end }}`,
			"10.0.0.2:5433 passing ;127.0.0.1:5432 passing z;",
		},
		{"service by tag and status", `{{ len (service "primary.db" "any") }} {{ len (service "db" "critical") }}`, "1 0"},
		{"services", `{{ range services }}{{ .Name }} {{ end }}`, "db "},
		{"services know their own", `{{ len (service "web") }}{{ len (nomadService "hidden") }}`, "00"},
		{"connect", `{{ len (connect "db") }}`, "0"},
		{"datacenters", `{{ datacenters }}`, "[dc1]"},
		{"node", `{{ with node }}{{ .Node.Node }} {{ .Node.Address }}{{ end }}`, "here 127.0.0.1"},
		{"node by name", `{{ with node "here" }}{{ .Node.Node }}{{ end }} {{ with node "elsewhere" }}x{{ else }}none{{ end }}`, "here none"},
		{"nodes", `{{ range nodes }}{{ .Datacenter }}{{ end }}`, "dc1"},
		{"secret of version 2", `{{ with secret "kv/data/web" }}{{ .Data.data.token }} {{ .Data.metadata.version }}{{ end }}`, "v2 1"},
		{"secret of version 2 without data", `{{ (secret "kv/web").Data.data.token }}`, "v2"},
		{"secret of a version", `{{ (secret "kv/data/web?version=3").Data.data.token }}`, "v2"},
		{"secret of version 1", `{{ with secret "old/web" }}{{ .Data.token }} {{ .Data.n }}{{ end }}`, "v1 3"},
		{"secret that is written", `{{ (secret "pki/issue/web" "common_name=x").Data.certificate }}`, "CERT"},
		{"secrets", `{{ secrets "kv/metadata" }} {{ secrets "kv" }} {{ secrets "old/" }}`, "[web] [web] [web]"},
		{"pkiCert", `{{ with pkiCert "pki/issue/web" "common_name=x" }}{{ .Cert }}{{ .Key }}{{ .CA }}{{ .CAChain }}{{ end }}`, "CERTKEYCA[ONE THREE]"},
		{"file", `{{ file "DIR/local/in" }}`, "from a file"},
		{
			"env", `{{ env "COLOR" }} {{ env "NOMAD_TASK_NAME" }} {{ env "attr.kernel.name" }} {{ env "node.unique.name" }} [{{ env "PATH" }}]`,
			"blue t linux here []",
		},
		{"mustEnv", `{{ mustEnv "COLOR" }}`, "blue"},
		{"envOrDefault", `{{ envOrDefault "COLOR" "d" }} {{ envOrDefault "NONE_SUCH" "d" }} [{{ envOrDefault "PATH" "masked" }}]`, "blue d []"},
		{"helpers", `{{ "abc" | toUpper }} {{ range loop 3 }}{{ . }}{{ end }} {{ "{\"a\":1}" | parseJSON | toYAML }}`, "ABC 012 a: 1"},
		{"sprig", `{{ "x" | sprig_repeat 3 }}`, "xxx"},
		{"define", `{{ define "a" }}A{{ . }}{{ end }}{{ template "a" 1 }}`, "A1"},
		{"data for data", `{{ key (key "app/host" | printf "app/deep/%s" | replaceAll "/h" "/x") }}`, "y"},
		{"a missing key of a map", `{{ (secret "old/web").Data.none }}`, "<no value>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSetting(t, defined, file(c.template))
			s.write("t/local/in", "from a file")
			s.task.Task.Templates[0].EmbeddedTmpl = new(strings.ReplaceAll(c.template, "DIR", filepath.Join(s.task.AllocDir, "t")))
			if err := s.start(Config{}); err != nil {
				t.Fatal(err)
			}
			s.stop()
			s.expect("events")
			if got := s.read("t/local/out"); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A task with a network of its own reaches services and nodes where its view says.
func TestServicesInTheViewOfTheTask(t *testing.T) {
	t.Parallel()
	s := newSetting(t, defined, file(`{{ range nomadService "db" }}{{ .Address }}:{{ .Port }} {{ end }}{{ range service "db" }}{{ .NodeAddress }} {{ .Address }}:{{ .Port }} {{ end }}`))
	err := s.start(Config{View: func(hooks.Task) taskenv.View {
		return func(e taskenv.Endpoint) taskenv.Endpoint {
			if e.Host == "127.0.0.1" {
				e.Host = "gateway"
			}
			return taskenv.Endpoint{Host: e.Host, Port: e.Port + 1}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.stop()
	want := "10.0.0.2:5434 gateway:5433 gateway 10.0.0.2:5434 gateway gateway:5433 "
	if got := s.read("t/local/out"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Services are listed by name, so that a template renders the same each time.
func TestOrderOfServices(t *testing.T) {
	t.Parallel()
	const names = "a b c d e f g h "
	var defined strings.Builder
	for name := range strings.FieldsSeq(names) {
		fmt.Fprintf(&defined, "service %q { port = 1 }\n", name)
	}
	s := newSetting(t, defined.String(), file(`{{ range services }}{{ .Name }} {{ end }}`))
	if err := s.start(Config{}); err != nil {
		t.Fatal(err)
	}
	s.stop()
	if got := s.read("t/local/out"); got != names {
		t.Errorf("got %q, want %q", got, names)
	}
}

// TestFailures renders templates that fail their task.
func TestFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, template, want string
		change               func(*api.Template)
	}{
		{name: "a template that is none", template: `{{ if }}`, want: "missing value for if"},
		{name: "an unknown function", template: `{{ nope }}`, want: `function "nope" not defined`},
		{name: "plugin", template: `{{ plugin "sh" }}`, want: "function is disabled"},
		{name: "writeToFile", template: `{{ "x" | writeToFile "/tmp/x" "" "" "0644" }}`, want: "function is disabled"},
		{name: "executeTemplate", template: `{{ executeTemplate "x" }}`, want: "function is disabled"},
		{name: "spew_dump", template: `{{ spew_dump "1" }}`, want: "function is disabled"},
		{name: "mustEnv", template: `{{ mustEnv "NONE_SUCH" }}`, want: "required environment variable NONE_SUCH is empty"},
		{name: "a file that is missing", template: `{{ file "DIR/t/local/none" }}`, want: "no such file or directory"},
		{name: "a file of another task", template: `{{ file "DIR/other/local/in" }}`, want: "is outside of sandbox"},
		{name: "a file of the machine", template: `{{ file "/etc/hostname" }}`, want: "is outside of sandbox"},
		{name: "a link out of the task", template: `{{ file "DIR/t/local/link" }}`, want: "is outside of sandbox"},
		{name: "the peers of Consul", template: `{{ peerings }}`, want: "no stubs"},
		{
			name: "a missing key that is an error", template: `{{ with secret "old/web" }}{{ .Data.none }}{{ end }}`, want: `map has no entry for key "none"`,
			change: func(t *api.Template) { t.ErrMissingKey = new(true) },
		},
		{
			name: "a secret in an error", template: `{{ with secret "old/web" }}{{ parseInt .Data.token }}{{ end }}`, want: "[redacted]",
		},
		{name: "indent to the left", template: `{{ indent -1 "a" }}`, want: "indent value must be a positive integer"},
		{name: "loop without a number", template: `{{ range loop true }}{{ end }}`, want: "loop: bad argument type: bool"},
		{name: "loop over three numbers", template: `{{ range loop 1 2 3 }}{{ end }}`, want: "loop: wrong number of arguments, expected 1 or 2, but got 3"},
		{name: "variables that are none", template: "A-B=1", want: "Template failed to read environment variables", change: func(t *api.Template) { t.Envvars = new(true) }},
		{name: "a destination that is a link", template: "x", want: "path escapes from parent", change: to("local/dir/x")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSetting(t, defined, file(c.template))
			s.write("other/local/in", "secret")
			outside := leaktest.TempDir(t)
			for link, target := range map[string]string{"link": "/etc/hostname", "dir": outside} {
				if err := os.Symlink(target, filepath.Join(s.task.AllocDir, "t/local", link)); err != nil {
					t.Fatal(err)
				}
			}
			tmpl := s.task.Task.Templates[0]
			tmpl.EmbeddedTmpl = new(strings.ReplaceAll(c.template, "DIR", s.task.AllocDir))
			if c.change != nil {
				c.change(tmpl)
			}
			if err := s.start(Config{}); err != nil {
				t.Fatal(err)
			}
			s.stop()
			got := strings.Join(s.take(), "\n")
			if !strings.HasPrefix(got, "0s Killing: Template failed") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if left, _ := os.ReadDir(outside); len(left) > 0 {
				t.Errorf("it wrote outside: %v", left)
			}
		})
	}
}

// TestSetup has templates that prevent the setup of the task.
func TestSetup(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		change     func(*api.Template)
	}{
		{"a destination in another task", "template destination path escapes alloc directory", to("../other/x")},
		{"a source of the machine", "template source path escapes alloc directory", func(t *api.Template) {
			t.SourcePath, t.EmbeddedTmpl = new("/etc/hostname"), new("")
		}},
		{"a source that is missing", "no such file or directory", func(t *api.Template) {
			t.SourcePath, t.EmbeddedTmpl = new("local/none"), new("")
		}},
		{"source and data", "cannot specify both", func(t *api.Template) { t.SourcePath = new("local/x") }},
		{"a signal that is none", `Failed to parse signal "SIGX"`, func(t *api.Template) {
			t.ChangeMode, t.ChangeSignal = new("signal"), new("SIGX")
		}},
		{"perms that are none", "is not an octal mode", func(t *api.Template) { t.Perms = new("4755") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSetting(t, "", file("x"))
			c.change(s.task.Task.Templates[0])
			err := s.start(Config{})
			s.stop()
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestFiles checks the written files: path, mode, and when nothing is written.
func TestFiles(t *testing.T) {
	t.Parallel()
	source := func(t *api.Template) {
		t.SourcePath, t.EmbeddedTmpl, t.DestPath = new("${NOMAD_TASK_DIR}/src"), new(""), new("${NOMAD_ALLOC_DIR}/data/shared")
		t.LeftDelim, t.RightDelim = new("<<"), new(">>")
	}
	s := newSetting(t, "",
		file("", source),
		file("plain", to("/etc/deep/er/conf"), func(t *api.Template) { t.Perms = new("600") }),
		file("A=once\nB=once", to("secrets/once.env"), func(t *api.Template) { t.Envvars, t.Once = new(true), new(true) }),
		file("# comment\nexport A='watched'\nC=\"a\\nb\"", to("secrets/env"), func(t *api.Template) { t.Envvars = new(true) }),
	)
	s.write("t/local/src", `{{ << env "COLOR" >> }}`)
	if err := s.start(Config{}); err != nil {
		t.Fatal(err)
	}
	s.stop()
	s.expect("events")
	if got := s.read("alloc/data/shared"); got != "{{ blue }}" {
		t.Errorf("got %q", got)
	}
	info, err := os.Stat(filepath.Join(s.task.AllocDir, "t/etc/deep/er/conf"))
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if want := "map[A:watched B:once C:a\nb]"; fmt.Sprint(s.control.env) != want {
		t.Errorf("variables %v, want %v", s.control.env, want)
	}
	files := 0
	err = filepath.WalkDir(s.task.AllocDir, func(path string, e fs.DirEntry, err error) error {
		if strings.HasPrefix(e.Name(), ".template-") {
			t.Errorf("left behind: %s", path)
		}
		if e.Type().IsRegular() {
			files++
		}
		return err
	})
	if err != nil || files < 3 {
		t.Errorf("%d files were found: %v", files, err)
	}

	m := s.hook.(*hook).m
	for _, tmpl := range m.set.templates[:2] {
		text, err := readPlaced(s.task.AllocDir, filepath.Join(s.task.AllocDir, tmpl.dest))
		if err != nil {
			t.Fatal(err)
		}
		if written, err := tmpl.write(s.task.AllocDir, text); written || err != nil {
			t.Errorf("%s was written again: %v %v", tmpl.written, written, err)
		}
		if written, err := tmpl.write(s.task.AllocDir, append(text, '!')); !written || err != nil {
			t.Errorf("%s was not written: %v %v", tmpl.written, written, err)
		}
	}
}
