package jobspec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec"
)

// said returns the diagnostics of a job file with their remedies.
func said(text string, opts jobspec.Options) (lines []string) {
	_, diagnostics := jobspec.Parse(jobspec.Source{Name: "x", Text: []byte(text)}, opts)
	for _, d := range diagnostics {
		lines = append(lines, strings.Trim(fmt.Sprintf("%v | %s", d, d.Remedy), " |"))
	}
	return lines
}

// A task has one scaling policy for each of its resources, whose type is given by the
// resource.
func TestScalingOfATask(t *testing.T) {
	t.Parallel()
	for blocks, want := range map[string][]string{
		`scaling "cpu" { max = 9 }` + "\n" + `scaling "mem" { type = "vertical_mem" }`: nil,
		`scaling "cpu" {}` + "\n" + `scaling "CPU" {}`:                                 {`x:6,1: scaling "cpu" is given twice: the first is on line 5`},
		`scaling "disk" {}`:                     {`x:5,9: cannot scale "disk": the label of a scaling block in a task is "cpu" or "mem"`},
		`scaling "cpu" { type = "horizontal" }`: {`x:5,24: the type of this scaling policy must be "vertical_cpu": it is "horizontal" | leave it out`},
		`scaling "a" {}` + "\n" + `scaling "a" {}`: {
			`x:5,9: cannot scale "a": the label of a scaling block in a task is "cpu" or "mem"`,
			`x:6,1: scaling "a" is given twice: the first is on line 5`, `x:6,9: cannot scale "a": the label of a scaling block in a task is "cpu" or "mem"`,
		},
	} {
		text := "job \"j\" {\ngroup \"g\" {\ntask \"t\" {\ndriver = \"d\"\n" + blocks + "\n}\n}\n}\n"
		if diff := cmp.Diff(want, said(text, jobspec.Options{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", blocks, diff)
		}
	}
}

// The remedy for an unknown name is a similar one, or the list of names if it is
// short.
func TestUnknownNames(t *testing.T) {
	t.Parallel()
	values := func(name string, value cty.Value) jobspec.Options {
		return jobspec.Options{Values: map[string]jobspec.VariableValue{name: {Value: value, At: jobspec.Range{File: "s"}}}}
	}
	for name, tt := range map[string]struct {
		declared, expr string
		opts           jobspec.Options
		want           []string
	}{
		"a variable":                {`variable "color" { default = 1 }`, "var.colr", jobspec.Options{}, []string{`there is no variable "colr" | did you mean var.color?`}},
		"a local":                   {`locals { color = 1 }`, "local.colr", jobspec.Options{}, []string{`there is no local "colr" | did you mean local.color?`}},
		"another variable":          {`variable "color" { default = 1 }`, "var.x", jobspec.Options{}, []string{`there is no variable "x": declared: color | declare it: variable "x" {}`}},
		"another local":             {`locals { color = 1 }`, "local.x", jobspec.Options{}, []string{`there is no local "x": declared: color | declare it in a locals block`}},
		"a value of a stub":         {`variable "color" { default = 1 }`, "var.color", values("colr", cty.StringVal("x")), []string{`the job file does not declare a variable "colr" | did you mean "color"?`}},
		"another value of a stub":   {`variable "color" { default = 1 }`, "var.color", values("x", cty.StringVal("x")), nil},
		"a stub that is not filled": {`variable "color" { default = 1 }`, "var.color", values("color", cty.NullVal(cty.String)), nil},
		"the token of Vault":        {"", `"${VAULT_TOKEN} ${VAULT_NAMESPACE} ${CONSUL_TOKEN} ${CONSUL_HTTP_TOKEN} ${CSI_ENDPOINT} ${NOMAD_X}"`, jobspec.Options{}, nil},
	} {
		got := said(string(withVariables(tt.declared, tt.expr)), tt.opts)
		for i, line := range got {
			_, got[i], _ = strings.Cut(line, ": ") // without its place
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The parent of a path ends at a dot outside of labels.
func TestParentsOfPaths(t *testing.T) {
	t.Parallel()
	for path, want := range map[jobspec.Path]jobspec.Path{
		"job.group[0]": "job", "job": "", "": "", `job.volume["a.b"]`: "job", `job.volume["a\".b"].source`: `job.volume["a\".b"]`, `job.volume["a\".b"]`: "job", `a.b["\\"].c`: `a.b["\\"]`,
	} {
		if got := path.Parent(); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
