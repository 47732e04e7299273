package stub_test

import (
	"slices"
	"testing"

	"taskrun/jobspec"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/stub/needs"
)

func TestOverrideGroups(t *testing.T) {
	t.Parallel()
	file, diagnostics := jobspec.Parse(jobspec.Source{Name: "web.nomad.hcl", Text: []byte(`
		job "web" {
		  constraint {
		    attribute = "${meta.rack}"
		    value     = "r1"
		  }
		  group "app" {
		    count = 3
		    network {
		      port "http" {
		        static = 80
		        to     = 8080
		      }
		      port "admin" {}
		    }
		    task "t" {
		      driver = "docker"
		      resources {
		        cpu = 4000
		      }
		    }
		  }
		  group "other" {
		    task "t" {
		      driver = "docker"
		    }
		  }
		}`)}, jobspec.Options{})
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	set := parse(t, `
		group "web/app" {
		  count = 1
		  constraint {
		    attribute = "${meta.rack}"
		    operator  = "is_set"
		  }
		  constraint {
		    attribute = "${node.class}"
		    value     = "x"
		  }
		  port "http" {
		    static = 0
		  }
		  port "admin" {
		    static = 9000
		    to     = 1
		  }
		  port "none" {}
		  resources {
		    cpu    = 100
		    memory = 64
		  }
		}
		group "there/app" {
		  count = 9
		}
		task "other/t" {
		  resources {
		    memory_max = 10
		  }
		}`)
	changes := set.Apply(file.Job, file.Positions)
	if len(changes.Groups) != 1 || !changes.Groups[0] {
		t.Errorf("used %v", changes.Groups)
	}
	g := file.Job.TaskGroups[0]
	n := g.Networks[0]
	if *g.Count != 1 || file.Job.Constraints[0].Operand != "is_set" || len(g.Constraints) != 1 || g.Constraints[0].RTarget != "x" {
		t.Errorf("count %d, constraints %v %v", *g.Count, file.Job.Constraints, g.Constraints)
	}
	if len(n.ReservedPorts) != 1 || n.ReservedPorts[0].Value != 9000 || n.ReservedPorts[0].To != 1 || len(n.DynamicPorts) != 1 || n.DynamicPorts[0].To != 8080 {
		t.Errorf("ports %v %v", n.ReservedPorts, n.DynamicPorts)
	}
	if r := g.Tasks[0].Resources; *r.CPU != 100 || *r.MemoryMB != 64 || r.Cores != nil {
		t.Errorf("resources %+v", r)
	}
	if r := file.Job.TaskGroups[1].Tasks[0].Resources; *r.MemoryMaxMB != 10 || r.CPU != nil {
		t.Errorf("resources of the other group %+v", r)
	}
	var errors []string
	for _, d := range changes.Diagnostics {
		if d.Range.IsZero() || d.Severity != jobspec.Notice && d.Severity != jobspec.Error {
			t.Errorf("%+v", d)
		}
		if d.Severity == jobspec.Error {
			errors = append(errors, d.Summary)
		}
	}
	if !slices.Equal(errors, []string{`group "app": there is no port "none"`}) || len(changes.Diagnostics) != 7 {
		t.Errorf("%v", changes.Diagnostics)
	}
}

func TestInvalidGroups(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`group "a" { count = -1 }`,
		`group "a" { count = "many" }`,
		`group "a" { counts = 1 }`,
		"group \"a\" {\n  port \"b\" {\n    static = 65536\n  }\n}",
		"group \"a\" {\n  constraint {}\n}",
	} {
		if _, diagnostics := stub.Parse("taskrun.hcl", []byte(text)); len(diagnostics) != 1 || diagnostics[0].Range.Start.Line == 0 {
			t.Errorf("%s: %v", text, diagnostics)
		}
	}
}

// FuzzMerge: a merged file can be parsed, and has nothing to add.
func FuzzMerge(f *testing.F) {
	f.Add("", `{{ key "a" }}{{ with secret "kv/x" }}{{ .Data.data.k | parseInt }}{{ end }}`)
	f.Add("node { meta = { a = 1 } }", `{{ range ls "x" }}{{ end }}{{ env "meta.b" }}{{ env "attr.c.d" }}`)
	f.Add("nomad_variable \"v\" { a = 1 }\nvariables {\n}\n", `{{ (nomadVar "v").b }}{{ (nomadVar "v@ns").c }}`)
	f.Add(whole, `{{ key "a\"b${x}%{y}" }}{{ service "é" }}`)
	f.Fuzz(func(t *testing.T, text, template string) {
		file, diagnostics := jobspec.Parse(jobspec.Source{Name: "x.nomad.hcl", Text: []byte(`
			variable "v" {}
			job "x" {
			  group "g" {
			    task "t" {
			      driver = "raw_exec"
			      template {
			        data        = ""
			        destination = "local/a"
			      }
			    }
			  }
			}`)}, jobspec.Options{Outline: true})
		if diagnostics.HasErrors() {
			t.Fatal(diagnostics)
		}
		file.Job.Canonicalize()
		file.Job.TaskGroups[0].Tasks[0].Templates[0].EmbeddedTmpl = &template
		o := needs.Job{File: file, Name: "x.nomad.hcl"}
		merged, _, diagnostics := needs.Merge([]byte(text), "taskrun.hcl", o)
		if diagnostics.HasErrors() {
			return
		}
		_, before := stub.Parse("taskrun.hcl", []byte(text))
		if _, after := stub.Parse("taskrun.hcl", merged); after.HasErrors() && !before.HasErrors() {
			t.Fatalf("%v\n%s", after, merged)
		}
		again, _, diagnostics := needs.Merge(merged, "taskrun.hcl", o)
		if diagnostics.HasErrors() || string(again) != string(merged) {
			t.Fatalf("a second time: %v\n%s\n---\n%s", diagnostics, merged, again)
		}
	})
}
