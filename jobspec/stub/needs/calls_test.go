package needs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/stub/needs"
	"taskrun/jobspec/taskenv"
)

func TestCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string // function label|argument line items optional
	}{
		{`{{ key "/a/b@dc1" }}`, []string{"key a/b  1 [] false"}},
		{"\n{{ if keyExists \"a\" }}\n{{ \"b\" | key }}{{ end }}", []string{"keyExists a  2 [] true", "key  what is piped into it 3 [] false"}},
		{`{{ keyOrDefault (env "K") "d" }}`, []string{`keyOrDefault  env "K" 1 [] true`}},
		{
			`{{ with nomadVar "p@ns" }}{{ .a }}{{ .b | toUpper }}{{ .Metadata.Path }}{{ if .c }}{{ .a }}{{ end }}{{ end }}`,
			[]string{"nomadVar p@ns  1 [a b c] false"},
		},
		{
			`{{ (nomadVar "p").user }}{{ range $k, $v := nomadVar "q" }}{{ .x }}{{ end }}`,
			[]string{"nomadVar p  1 [user] false", "nomadVar q  1 [] false"},
		},
		{`{{ with secret "kv/data/x" }}{{ .Data.data.pw }}{{ .Data.metadata.version }}{{ end }}`, []string{"secret kv/data/x  1 [pw] false"}},
		{`{{ with secret "kv/x" }}{{ .Data.data.pw }}{{ end }}`, []string{"secret kv/x  1 [pw] false"}},
		{`{{ $s := secret "kv/data/x" }}{{ $s.Data.data.pw }}{{ index $s.Data.data "user" }}`, []string{"secret kv/data/x  1 [pw user] false"}},
		{`{{ with (secret "x").Data.data }}{{ .pw }}{{ range $k, $v := . }}{{ $k.no }}{{ end }}{{ end }}`, []string{"secret x  1 [pw] false"}},
		{`{{ with secret "x" }}{{ range $v := .Data.data }}{{ $v.no }}{{ end }}{{ $.no }}{{ end }}`, []string{"secret x  1 [data] false"}},
		{`{{ with nomadVar "p" }}{{ index . "a.b" }}{{ index . (print "c") }}{{ end }}`, []string{"nomadVar p  1 [a.b] false"}},
		{`{{ with secret "old/x" "ttl=1h" }}{{ .Data.pw }}{{ .LeaseID }}{{ end }}`, []string{"secret old/x  1 [pw] false"}},
		{
			`{{ range service "tag.db@dc|any" }}{{ .Address }}{{ end }}{{ range nomadService 1 "k" "api" }}{{ end }}`,
			[]string{"service db  1 [] true", "nomadService api  1 [] true"},
		},
		{`{{ define "x" }}{{ key "in/define" }}{{ end }}{{ template "x" (key "arg") }}`, []string{"key in/define  1 [] false", "key arg  1 [] false"}},
		{`{{ printf "%s" (key "a") | toUpper }}`, []string{"key a  1 [] false"}},
		{`{{ with nomadVar (printf "a/%s" (key "b")) }}{{ .x }}{{ end }}`, []string{`nomadVar  printf "a/%s" (key "b") 1 [x] false`, "key b  1 [] false"}},
		{`{{ nomadVarList }}{{ file "x" }}`, nil},
		{`{{ key "a"`, nil},
	} {
		var got []string
		for _, call := range needs.Calls(&api.Template{EmbeddedTmpl: &c.text}) {
			got = append(got, fmt.Sprintf("%s %s %s %d %v %v", call.Function, call.Label, call.Argument, call.Line, call.Items, call.Optional))
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\ngot  %q\nwant %q", c.text, got, c.want)
		}
	}
	for text, want := range map[string]string{
		`{{ key "a" | parseInt }}`: "1", `{{ parseJSON (key "a") }}`: "{}", `{{ with $x := key "a" | parseBool }}{{ end }}`: "false",
		`{{ key "a" | toUpper }}`: "",
	} {
		if got := needs.Calls(&api.Template{EmbeddedTmpl: &text}); len(got) != 1 || got[0].Samples[""] != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	got := needs.Calls(&api.Template{EmbeddedTmpl: new(`{{ with secret "kv/x" }}{{ .Data.port | parseInt }}{{ .Data.name }}{{ end }}`)})
	if len(got) != 1 || got[0].Samples["port"] != "1" || got[0].Samples["name"] != "" {
		t.Errorf("with keys: %v", got)
	}
	got = needs.Calls(&api.Template{Envvars: new(true), EmbeddedTmpl: new("{{ with secret \"kv/x\" }}\nA={{ .Data.a }}\n{{ .Data.b }}\n{{ end }}{{ key \"c\" }}")})
	if len(got) != 2 || got[0].Samples["a"] != "" || got[0].Samples["b"] != "TODO=1" || got[1].Samples[""] != "TODO=1" {
		t.Errorf("of variables: %v", got)
	}
	if got := needs.Calls(&api.Template{EmbeddedTmpl: new(`<< key "a" >> {{ key "b" }}`), LeftDelim: new("<<"), RightDelim: new(">>")}); len(got) != 1 || got[0].Label != "a" {
		t.Errorf("with other delimiters: %v", got)
	}
}

// A call has its label without what is no part of it, and whatever the template
// uses of its result.
func TestPartsOfCalls(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]needs.Call{
		`{{ key "a?x@dc" }}`:                      {Need: stub.Need{Kind: stub.ConsulKey, Label: "a"}},
		`{{ secret "/kv/x/?version=1" }}`:         {Need: stub.Need{Kind: stub.VaultSecret, Label: "kv/x"}},
		`{{ nomadVar "/a/b/@ns.region" }}`:        {Need: stub.Need{Kind: stub.NomadVariable, Label: "a/b@ns"}},
		`{{ nomadVar "a@.region" }}`:              {Need: stub.Need{Kind: stub.NomadVariable, Label: "a"}},
		`{{ range ls "a" }}{{ .Value }}{{ end }}`: {Need: stub.Need{Kind: stub.ConsulKey, Label: "a"}, List: true, Optional: true},
		`{{ safeTree "a" }}`:                      {Need: stub.Need{Kind: stub.ConsulKey, Label: "a"}, List: true},
		`{{ nomadVarExists "a" }}`:                {Need: stub.Need{Kind: stub.NomadVariable, Label: "a"}, Optional: true},
		`{{ nomadService "a.b|any" }}`:            {Need: stub.Need{Kind: stub.ServiceBlock, Label: "b"}, Optional: true},
		`{{ with pkiCert "pki/x" "ttl=1h" }}{{ .Cert }}{{ end }}`: {
			Need: stub.Need{Kind: stub.VaultSecret, Label: "pki/x"}, Items: []string{"certificate", "private_key", "issuing_ca"},
		},
		`{{ with secret "kv/x" }}{{ .Data.data }}{{ .Data.data.a }}{{ .Data.data }}{{ end }}`: {
			Need: stub.Need{Kind: stub.VaultSecret, Label: "kv/x"}, Items: []string{"a"}, KV2: true,
		},
		`{{ with secret "kv/data/x" }}{{ .Data.data }}{{ .Data }}{{ .Data.metadata }}{{ .Lease }}{{ end }}`: {
			Need: stub.Need{Kind: stub.VaultSecret, Label: "kv/data/x"},
		},
		`{{ with nomadVar "p" }}{{ .Keys }}{{ .Values }}{{ .Tuples }}{{ .ItemsMap }}{{ .Parent }}{{ .a.b }}{{ .a }}{{ end }}`: {
			Need: stub.Need{Kind: stub.NomadVariable, Label: "p"}, Items: []string{"a"},
		},
		`{{ with service "p" }}{{ .Port }}{{ else }}{{ .x }}{{ end }}`: {Need: stub.Need{Kind: stub.ServiceBlock, Label: "p"}, Optional: true},
		`{{ $v := nomadVar "p" }}{{ if true }}{{ $v.a }}{{ else }}{{ $v.b }}{{ end }}{{ range $v := x }}{{ $v.no }}{{ end }}`: {
			Need: stub.Need{Kind: stub.NomadVariable, Label: "p"}, Items: []string{"a", "b"},
		},
		`{{ with nomadVar "p" }}{{ .f 1 | parseInt }}{{ range x }}{{ .no }}{{ else }}{{ .y }}{{ end }}{{ end }}`: {
			Need: stub.Need{Kind: stub.NomadVariable, Label: "p"}, Items: []string{"f", "y"}, Samples: map[string]string{"f": "1"},
		},
		`{{ with nomadVar "p" }}{{ .n | parseInt }}{{ .n | parseJSON }}{{ parseBool .b }}{{ sprig_atoi (.c) }}{{ .d | toUpper }}{{ end }}`: {
			Need: stub.Need{Kind: stub.NomadVariable, Label: "p"}, Items: []string{"n", "b", "c", "d"}, Samples: map[string]string{"n": "1", "b": "false", "c": "1"},
		},
	} {
		want.Line = 1
		want.Function = strings.Fields(strings.NewReplacer("with ", "", "range ", "", "$v := ", "").Replace(text))[1]
		got := needs.Calls(&api.Template{EmbeddedTmpl: &text})
		if diff := cmp.Diff([]needs.Call{want}, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// TestSkeletonCanBeParsed parses a skeleton with all kinds of blocks.
func TestSkeletonCanBeParsed(t *testing.T) {
	t.Parallel()
	file, diagnostics := jobspec.Parse(jobspec.Source{Name: "x.nomad.hcl", Text: []byte(`
		variable "a" {}
		variable "b" {
		  type = list(string)
		}
		job "x" {
		  constraint {
		    attribute = "${meta.rack.row}"
		    value     = "1"
		  }
		  constraint {
		    attribute = "${node.class}"
		    value     = var.a
		  }
		  group "g" {
		    volume "v" {
		      type   = "host"
		      source = "certs"
		    }
		    service {
		      name     = "own"
		      provider = "nomad"
		    }
		    task "t" {
		      driver = "raw_exec"
		      vault {}
		      secret "s" {
		        provider = "vault"
		        path     = "kv/s"
		      }
		      template {
		        data = <<EOF
{{ key "a\"b" }}{{ keyOrDefault "opt" "" }}{{ nomadVarList "all/" }}
{{ range nomadService "own" }}{{ end }}{{ range service "db" }}{{ end }}
{{ (nomadVar "v").item }}{{ secret (printf "kv/%s" "x") }}
EOF
		        destination = "local/a"
		      }
		      template {
		        source      = "local/t.tpl"
		        destination = "local/b"
		      }
		    }
		  }
		}`)}, jobspec.Options{Outline: true})
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	file.Job.Canonicalize()
	node := taskenv.Fingerprint()
	text, _, diagnostics := needs.Merge(nil, "taskrun.hcl", needs.Job{File: file, Name: "x.nomad.hcl", Node: &node})
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	w, diagnostics := stub.Parse("taskrun.hcl", text)
	if len(diagnostics) > 0 {
		t.Fatalf("%v\n%s", diagnostics, text)
	}
	_, variable := w.Variable("default", "v")
	_, secret := w.Secret("kv/s")
	_, key := w.Key(`a"b`)
	_, optional := w.Key("opt")
	_, volume := w.HostVolumes["certs"]
	if !variable || !secret || !key || optional || !volume || len(w.Values) != 2 || len(w.Services) != 1 || len(w.Node.Meta) != 1 {
		t.Errorf("it lacks something, or has too much:\n%s", text)
	}
}
