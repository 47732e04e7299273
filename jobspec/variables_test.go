package jobspec_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec"
)

// withVariables returns a job that shows the variable v in env.
func withVariables(declarations, expr string) []byte {
	return []byte(declarations + "\njob \"x\" {\n  task \"t\" {\n    env {\n      A = " + expr + "\n    }\n  }\n}\n")
}

func TestVariablesTakeTheirValueFromTheLastSource(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	first, second := write("1.hcl", "v = \"file 1\"\n"), write("2.json", `{"v": "file ${2}"}`)
	const untyped = `variable "v" { default = "default" }`
	for name, test := range map[string]struct {
		declaration, expr string
		opts              jobspec.Options
		want              string
	}{
		"default":                  {untyped, "var.v", jobspec.Options{}, "default"},
		"short form":               {"variables {\n  v = \"default\"\n}", "var.v", jobspec.Options{}, "default"},
		"environment":              {untyped, "var.v", jobspec.Options{Environ: []string{"NOMAD_VAR_v=env", "NOMAD_VAR_other=x", "v=x"}}, "env"},
		"file":                     {untyped, "var.v", jobspec.Options{Environ: []string{"NOMAD_VAR_v=env"}, VarFiles: []string{first}}, "file 1"},
		"last file":                {untyped, "var.v", jobspec.Options{VarFiles: []string{first, second}}, "file ${2}"},
		"argument":                 {untyped, "var.v", jobspec.Options{VarFiles: []string{first}, Vars: []string{"v=arg"}}, "arg"},
		"last one":                 {untyped, "var.v", jobspec.Options{Vars: []string{"v=1", "v=2"}}, "2"},
		"empty":                    {untyped, "var.v", jobspec.Options{Vars: []string{"v="}}, ""},
		"equals signs":             {untyped, "var.v", jobspec.Options{Vars: []string{"v=a=b"}}, "a=b"},
		"text of a number":         {`variable "v" { type = number }`, `"${var.v}"`, jobspec.Options{Vars: []string{"v=1.20"}}, "1.2"},
		"text of a string":         {`variable "v" { type = string }`, "var.v", jobspec.Options{Vars: []string{"v=1.20"}}, "1.20"},
		"a list":                   {`variable "v" { type = list(string) }`, `join(",", var.v)`, jobspec.Options{Vars: []string{`v=["a", 2]`}}, "a,2"},
		"a bool":                   {"variable \"v\" {\n type = bool\n}", "var.v", jobspec.Options{Environ: []string{"NOMAD_VAR_v=true"}}, "true"},
		"an object that loses all": {`variable "v" { default = {} }`, "length(keys(var.v))", jobspec.Options{Vars: []string{"v={a=1}"}}, "0"},
		"null without a type":      {"variable \"v\" {\n default = null\n}", "var.v", jobspec.Options{Vars: []string{`v="abc"`}}, "abc"},
		"a condition met": {
			"variable \"v\" {\n default = \"abc\"\n validation {\n condition = strlen(var.v) == 3\n error_message = \"Three.\"\n}\n}",
			"var.v",
			jobspec.Options{Vars: []string{"v=xyz"}},
			"xyz",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, diagnostics := jobspec.Parse(jobspec.Source{Name: "x", Text: withVariables(test.declaration, test.expr)}, test.opts)
			if file.Job == nil {
				t.Fatal(diagnostics)
			}
			if got := file.Job.TaskGroups[0].Tasks[0].Env["A"]; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestFaultsOfVariables(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		declaration string
		opts        jobspec.Options
		want        []string // file:line,column: summary
		remedy      string
	}{
		"no value, said once": {
			`variable "v" {}`,
			jobspec.Options{},
			[]string{`x:1,1: variable "v" has no value`},
			"--var v=VALUE",
		},
		"a type that does not exist": {
			"variable \"v\" {\n  type = list\n}",
			jobspec.Options{Vars: []string{"v=[1]"}},
			[]string{`x:2,10: invalid type specification`},
			"list(string)",
		},
		"a tuple of another length": {
			`variable "v" { default = ["a"] }`,
			jobspec.Options{Vars: []string{`v=["a","b"]`}},
			[]string{`--var v:1,1: the value from --var of variable "v" does not fit its type`},
			"type = list(string)",
		},
		"a condition not met": {
			"variable \"v\" {\n default = 1\n validation {\n condition = var.v < 5\n error_message = \"At most 4.\"\n}\n}",
			jobspec.Options{Vars: []string{"v=7"}},
			[]string{`--var v:1,1: the value from --var of variable "v" is not allowed`},
			"",
		},
		"all conditions": {
			"variable \"v\" {\n default = 1\n validation {\n condition = var.v > 5\n error_message = \"a\"\n}\n validation {\n condition = var.v > 6\n error_message = \"b\"\n}\n}",
			jobspec.Options{},
			[]string{`x:2,12: the default of variable "v" is not allowed`, `x:2,12: the default of variable "v" is not allowed`},
			"",
		},
		"a condition without the variable": {
			"variable \"v\" {\n default = 1\n validation {\n condition = 1 > 5\n error_message = \"a\"\n}\n}",
			jobspec.Options{},
			[]string{`x:4,14: the condition does not mention var.v`},
			"",
		},
		"a condition about another variable": {
			"variable \"other\" { default = 1 }\nvariable \"v\" {\n default = 1\n validation {\n condition = var.v > var.other\n error_message = \"a\"\n}\n}",
			jobspec.Options{},
			[]string{`x:5,22: a condition may refer to its own variable alone`},
			"write var.v",
		},
		"a condition about all variables": {
			"variable \"v\" {\n default = 1\n validation {\n condition = var == 1\n error_message = \"a\"\n}\n}",
			jobspec.Options{},
			[]string{`x:4,14: a condition may refer to its own variable alone`},
			"write var.v",
		},
		"a condition that is a number": {
			"variable \"v\" {\n default = 1\n validation {\n condition = var.v + 1\n error_message = \"a\"\n}\n}",
			jobspec.Options{},
			[]string{`x:4,14: a condition must be true or false`},
			"",
		},
		"a condition that is nothing": {
			"variable \"v\" {\n default = 1\n validation {\n condition = var.v > 0 ? null : true\n error_message = \"a\"\n}\n}",
			jobspec.Options{},
			[]string{`x:4,14: a condition must be true or false`},
			"",
		},
		"an empty message": {
			"variable \"v\" {\n default = 1\n validation {\n condition = var.v > 0\n error_message = \" \"\n}\n}",
			jobspec.Options{},
			[]string{`x:5,18: the error message is empty`},
			"",
		},
		"a message that is a list": {
			"variable \"v\" {\n default = 1\n validation {\n condition = var.v > 0\n error_message = [1]\n}\n}",
			jobspec.Options{},
			[]string{`x:5,18: an error message must be a string`},
			"",
		},
		"an object with other attributes": {
			`variable "v" { default = { a = "b" } }`,
			jobspec.Options{Vars: []string{`v={c="d"}`}},
			[]string{`--var v:1,1: the value from --var of variable "v" does not fit its type`},
			`declare the type of "v": type = map(string)`,
		},
		"a name that is none": {
			`variable "1v" { default = 1 }` + "\nvariable \"v\" { default = 1 }",
			jobspec.Options{},
			[]string{`x:1,10: "1v" cannot be the name of a variable`},
			"",
		},
		"a misspelled argument": {
			`variable "version" { default = 1 }` + "\nvariable \"v\" { default = 1 }",
			jobspec.Options{Vars: []string{"verison=1"}},
			[]string{`--var verison:1,1: the job file does not declare a variable "verison"`},
			`did you mean "version"?`,
		},
		"a file that is not there": {
			`variable "v" { default = 1 }`,
			jobspec.Options{VarFiles: []string{"no/such.hcl"}},
			[]string{`cannot read the file of values "no/such.hcl": there is no such file`},
			"",
		},
		"a directory of files": {
			`variable "v" { default = 1 }`,
			jobspec.Options{VarFiles: []string{"testdata/bad"}},
			[]string{`cannot read the file of values "testdata/bad": it is a directory`},
			"name the file in it",
		},
		"files one after the other": {
			`variable "v" { type = number }`,
			jobspec.Options{VarTexts: []jobspec.Source{{Name: "a", Text: []byte("\n\nv = true")}, {Name: "b", Text: []byte("v = true")}}},
			[]string{`a:3,5: `, `b:1,5: `},
			"",
		},
		"a stub that is not filled in": {
			"variable \"v\" {\n validation {\n condition = var.v > 5\n error_message = \"a\"\n}\n}",
			jobspec.Options{Values: map[string]jobspec.VariableValue{"v": {Value: cty.StringVal("TODO-v"), Placeholder: "the value"}}},
			[]string{`stub "the value" is not filled in`},
			"replace TODO(…) with the value, or pass --var v=VALUE",
		},
		"a value that does not fit, and a condition": {
			"variable \"v\" {\n type = number\n default = 1\n validation {\n condition = var.v > 5\n error_message = \"a\"\n}\n}",
			jobspec.Options{Vars: []string{"v=text"}},
			[]string{`--var v:1,1: `},
			"",
		},
		"a default that is no text for a text": {
			"variable \"v\" {\n default = 1\n description = [1]\n}",
			jobspec.Options{},
			[]string{`x:3,16: the description of a variable must be a string`},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, diagnostics := jobspec.Parse(jobspec.Source{Name: "x", Text: withVariables(test.declaration, "var.v")}, test.opts)
			if file.Job != nil {
				t.Error("there is a job")
			}
			if len(diagnostics) != len(test.want) {
				t.Fatalf("got %d diagnostics, want %d: %v", len(diagnostics), len(test.want), diagnostics)
			}
			for i, want := range test.want {
				if !strings.HasPrefix(diagnostics[i].Error(), want) {
					t.Errorf("got %q, want %q", diagnostics[i].Error(), want)
				}
				if !strings.Contains(diagnostics[i].Remedy, test.remedy) {
					t.Errorf("the remedy is %q, want %q", diagnostics[i].Remedy, test.remedy)
				}
			}
		})
	}
}

func TestLocals(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"b = local.a\na = \"${NOMAD_X}\"\nv = local.b": "${NOMAD_X}",
		"v = local[\"a\"]\na = 1":                      "1",
		"v = length(keys(local))\na = 1\nb = 2":        "2", // all except itself
		"v = try(local.nope, \"x\")":                   "x",
		"v = try(local.v, \"x\")":                      "x", // its own value is unknown
		"a = { k = \"deep\" }\nv = local.a.k":          "deep",
	} {
		file, diagnostics := jobspec.Parse(jobspec.Source{Name: "x", Text: withVariables("locals {\n"+body+"\n}", "local.v")}, jobspec.Options{})
		if file.Job == nil {
			t.Errorf("%q: %v", body, diagnostics)
			continue
		}
		if got := file.Job.TaskGroups[0].Tasks[0].Env["A"]; got != want {
			t.Errorf("%q: got %q, want %q", body, got, want)
		}
	}
}

func TestFileBesideTheJobFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "motd.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	src := jobspec.Source{Name: filepath.Join(dir, "x.nomad.hcl"), Text: inEnv(`file("motd.txt")`)}
	_, diagnostics := jobspec.Parse(src, jobspec.Options{})
	if len(diagnostics) != 1 || !strings.HasSuffix(diagnostics[0].Remedy, ": cd "+dir) {
		t.Errorf("got %+v", diagnostics)
	}
}
