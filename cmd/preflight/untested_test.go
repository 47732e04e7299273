package preflight

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/jobspec"
)

// A kind of artifact is named if it is one, because a source may begin with a secret.
func TestKindOfAnArtifact(t *testing.T) {
	t.Parallel()
	for kind := range remedies {
		if got := from(kind); got != " from "+kind && remedies[kind] != "" {
			t.Errorf("%q: %q", kind, got)
		}
	}
	if got := from("secret"); got != "" {
		t.Errorf("another kind: %q", got)
	}
}

// A rehearsal names the commands of its tasks, and everything else that it does not
// test.
func TestUntested(t *testing.T) {
	t.Parallel()
	const source = "artifact {\n  source = \"https://example.com/x\"\n}\n"
	for _, tt := range []struct {
		name, task, group string
		download          bool
		want              []string
	}{
		{"a command", plain, "", false, []string{`command "/bin/true" of task "t" (raw_exec)`}},
		{"an image", "driver = \"docker\"\nuser = \"nobody-here\"\nconfig {\n  image = \"alpine:3\"\n}\n", "", false, []string{`image "alpine:3" of task "t" (docker)`}},
		{"no program", "driver = \"mock_driver\"\n", "", false, []string{`task "t" (mock_driver)`}},
		{"a plugin", "driver = \"starship\"\n", "", false, []string{
			`task "t" (starship)`, `the config block of task "t": driver "starship" is a plugin whose options are not known`,
		}},
		{"another user", plain + "user = \"nobody-here\"\n", "", false, []string{
			`command "/bin/true" of task "t" (raw_exec)`, `user "nobody-here" of task "t": this machine has no such user`,
		}},
		{"a user", plain + "user = \"root\"\n", "", false, []string{`command "/bin/true" of task "t" (raw_exec)`}},
		{"the ID of a user", plain + "user = \"0\"\n", "", false, []string{`command "/bin/true" of task "t" (raw_exec)`}},
		{"an artifact", plain + source, "", false, []string{`command "/bin/true" of task "t" (raw_exec)`, `an artifact of task "t"`}},
		{"a downloaded artifact", plain + source, "", true, []string{`command "/bin/true" of task "t" (raw_exec)`}},
		{"a template without its source", plain + "template {\n  source = \"local/a\"\n  destination = \"local/b\"\n}\n", "", false, []string{
			`command "/bin/true" of task "t" (raw_exec)`, `template "local/b" of task "t": nothing brings its source "local/a"`,
		}},
		{
			"a template of a template", plain + "template {\n  data = \"x\"\n  destination = \"local/a\"\n}\ntemplate {\n  source = \"local/a\"\n  destination = \"local/b\"\n}\n", "", false,
			[]string{`command "/bin/true" of task "t" (raw_exec)`},
		},
		{"a network", plain, "network {\n  mode = \"bridge\"\n}", false, []string{
			`the bridge network of group "g": its addresses are made up`, `command "/bin/true" of task "t" (raw_exec)`,
		}},
		{"the network of the machine", plain, "network {\n  mode = \"host\"\n}", false, []string{`command "/bin/true" of task "t" (raw_exec)`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := caseOf(t, Rehearse, "", job(tt.task, tt.group))
			c.Download = tt.download
			c.Prepare()
			var got []string
			for _, d := range c.Untested() {
				if got = append(got, d.Summary); d.Severity != jobspec.Notice || d.Remedy != "" {
					t.Errorf("%+v is no notice", d)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A placeholder that is not filled in is reported once, with the reason why a job
// needs it, and only if one does.
func TestUnfilledStubs(t *testing.T) {
	t.Parallel()
	const (
		volume  = "host_volume \"v\" {\n  path = TODO(\"a folder\")\n}\n"
		service = "service \"db\" {\n  address = TODO(\"an address\")\n  port = 1\n}\n"
		mount   = "volume_mount {\n  volume = \"v\"\n  destination = \"/v\"\n}\n"
		request = "volume \"v\" {\n  type = \"host\"\n  source = \"v\"\n}\n"
	)
	for _, tt := range []struct {
		name, task, group, stubs string
		want                     []string
	}{
		{"a volume", plain + mount, request, volume, []string{`stub "a folder" of host_volume "v" is not filled in: group "g" mounts it`}},
		{"a volume that is not mounted", plain, request, volume, nil},
		{"an upstream", plain, sidecar("web", "1", "db local_bind_port = 9000"), service, []string{`stub "an address" of service "db" is not filled in: it is an upstream of group "g"`}},
		{"another service", plain, "", service, nil},
		{"a token", plain + "vault {}\n", "", "vault {\n  token = TODO(\"a token\")\n}\n", []string{`stub "a token" is not filled in: task "t" gets the token`}},
		{"a token of Consul", plain + "consul {}\n", "", "consul {\n  token = TODO(\"a token\")\n}\n", []string{`stub "a token" is not filled in: task "t" gets the token`}},
		{"an attribute", plain + "env {\n  A = \"${attr.x} ${attr.x}\"\n}\n", "", "node {\n  attributes = { x = TODO(\"an x\") }\n}\n", []string{`stub "an x" is not filled in: job "j" uses ${attr.x}`}},
		{"another attribute", plain, "", "node {\n  attributes = { x = TODO(\"an x\") }\n}\n", nil},
		{"an artifact", plain + "artifact {\n  source = \"https://a/x\"\n}\n", "", "artifact \"https://a/x\" {\n  source = TODO(\"a file\")\n}\n", []string{`stub "a file" of artifact "https://a/x" is not filled in: task "t" downloads it`}},
		{"a template", plain + "template {\n  data = \"{{ key \\\"k\\\" }}{{ key \\\"k\\\" }}\"\n  destination = \"local/a\"\n}\n", "", "consul_key \"k\" {\n  value = TODO(\"a value\")\n}\n", []string{`stub "a value" of consul_key "k" is not filled in: template "local/a" of task "t" reads it`}},
		{"a secret", plain + "secret \"s\" {\n  provider = \"nomad\"\n  path = \"p\"\n}\n", "", "nomad_variable \"p\" {\n  key = TODO(\"a key\")\n}\n", []string{`stub "a key" of nomad_variable "p" is not filled in: secret "s" of task "t" reads it`}},
		{"a changed task", plain, "", "task \"t\" {\n  user = TODO(\"a user\")\n}\n", []string{`stub "a user" of task "t" is not filled in: task "t" is changed by it`}},
		{"another task", plain, "", "task \"u\" {\n  user = TODO(\"a user\")\n}\n", nil},
		{"a changed group", plain, "", "group \"g\" {\n  count = TODO(\"a count\", 1)\n}\n", []string{`stub "a count" of group "g" is not filled in: group "g" is changed by it`}},
		{"another group", plain, "", "group \"h\" {\n  count = TODO(\"a count\", 1)\n}\n", nil},
		{"a token for nobody", plain, "", "vault {\n  token = TODO(\"a token\")\n}\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := caseOf(t, Up, tt.stubs, job(tt.task, tt.group))
			c.Stubs = c.Stubs.Filled()
			c.Prepare()
			var got []string
			for _, d := range unfilled(c) {
				got = append(got, d.Summary+": "+d.Detail)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
