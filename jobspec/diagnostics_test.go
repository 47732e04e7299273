package jobspec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec"
)

// Fit chooses the samples with which the rules have the fewest errors, in any
// order of the variables.
func TestFit(t *testing.T) {
	t.Parallel()
	const declarations = "variable \"a\" { type = number }\nvariable \"b\" { type = bool }\n"
	env := func(f *jobspec.File) string { return f.Job.TaskGroups[0].Tasks[0].Env["A"] }
	for name, c := range map[string]struct {
		text   []byte
		errors func(*jobspec.File) int
		want   map[string]cty.Value
		env    string // of the job; empty if there is none
		parses int    // that were checked; 0 for any number
	}{
		"the first ones": {
			withVariables(declarations, `"${var.a} ${var.b}"`), func(*jobspec.File) int { return 0 },
			map[string]cty.Value{"a": cty.NumberIntVal(1), "b": cty.False},
			"1 false", 1,
		},
		"one of them": {
			withVariables(declarations, `"${var.a} ${var.b}"`), func(f *jobspec.File) int {
				if env(f) == "8080 false" {
					return 0
				}
				return 1
			}, map[string]cty.Value{"a": cty.NumberIntVal(8080), "b": cty.False}, "8080 false", 0,
		},
		"one after the other": { // only b shows what is wrong with a
			withVariables(declarations, `"${var.a} ${var.b}"`), func(f *jobspec.File) int {
				return map[string]int{"256 true": 0, "1 true": 1}[env(f)] + map[bool]int{true: 2}[env(f) != "256 true" && env(f) != "1 true"]
			}, map[string]cty.Value{"a": cty.NumberIntVal(256), "b": cty.True}, "256 true", 0,
		},
		"none is better": {
			withVariables(declarations, `"${var.a} ${var.b}"`), func(*jobspec.File) int { return 5 },
			map[string]cty.Value{"a": cty.NumberIntVal(1), "b": cty.False},
			"1 false", 0,
		},
		"the file cannot be read otherwise": {
			withVariables("variable \"a\" {\n  type = number\n}\n", `[1, 2, 3][var.a == 8080 ? 0 : 7]`), func(*jobspec.File) int { return 0 },
			map[string]cty.Value{"a": cty.NumberIntVal(8080)},
			"1", 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := jobspec.Source{Name: "x", Text: c.text}
			opts := jobspec.Options{Outline: true}
			file, diagnostics := jobspec.Parse(src, opts)
			if len(file.Unset) != len(c.want) {
				t.Fatalf("%v, %v", file.Unset, diagnostics)
			}
			parses := 0
			fitted := jobspec.Fit(src, opts, file, func(f *jobspec.File) int {
				parses++
				return c.errors(f)
			})
			if got := env(fitted); got != c.env {
				t.Errorf("the variable is %q, not %q", got, c.env)
			}
			if c.parses > 0 && parses != c.parses {
				t.Errorf("it was checked %d times", parses)
			}
			if len(fitted.Unset) != len(c.want) {
				t.Errorf("unset are %v", fitted.Unset)
			}
			for _, u := range fitted.Unset {
				if len(u.Samples) != 1 || !u.Samples[0].RawEquals(c.want[u.Name]) {
					t.Errorf("%s may be %#v", u.Name, u.Samples)
				}
			}
			if opts.Values != nil || opts.Placeholders {
				t.Error("the options have changed")
			}
		})
	}
}

// A file that cannot be read with any sample is as it was, with one sample
// for each variable.
func TestFitOfABrokenFile(t *testing.T) {
	t.Parallel()
	src := jobspec.Source{Name: "x", Text: withVariables("variable \"a\" { type = bool }\n", "\"${var.a}\"\n      A = ")}
	file := &jobspec.File{Unset: []jobspec.Unset{{Name: "a", Samples: []cty.Value{cty.False, cty.True}}}}
	fitted := jobspec.Fit(src, jobspec.Options{Outline: true}, file, func(*jobspec.File) int {
		t.Error("the rules are asked about a file without a job")
		return 0
	})
	if fitted != file || len(file.Unset[0].Samples) != 1 || !file.Unset[0].Samples[0].RawEquals(cty.False) {
		t.Errorf("it is %+v", fitted.Unset)
	}
}

// Values that are given stay as they are.
func TestFitKeepsValues(t *testing.T) {
	t.Parallel()
	given := map[string]jobspec.VariableValue{"a": {Value: cty.NumberIntVal(3)}}
	src := jobspec.Source{Name: "x", Text: withVariables("variable \"a\" { type = number }\nvariable \"b\" { type = bool }\n", `"${var.a} ${var.b}"`)}
	opts := jobspec.Options{Outline: true, Values: given}
	file, _ := jobspec.Parse(src, opts)
	fitted := jobspec.Fit(src, opts, file, func(*jobspec.File) int { return 0 })
	if got := fitted.Job.TaskGroups[0].Tasks[0].Env["A"]; got != "3 false" || len(given) != 1 {
		t.Errorf("the variable is %q, the values are %v", got, given)
	}
}

func TestDiagnosticsInWords(t *testing.T) {
	t.Parallel()
	at := func(file string, line, column, offset int) jobspec.Range {
		return jobspec.Range{File: file, Start: jobspec.Pos{Line: line, Column: column, Byte: offset}}
	}
	list := jobspec.Diagnostics{
		{Severity: jobspec.Hint, Summary: "nowhere"},
		{Severity: jobspec.Warning, Summary: "late", Range: at("a", 9, 1, 90)},
		{Severity: jobspec.Error, Summary: "elsewhere", Range: at("b", 1, 1, 0)},
		{Severity: jobspec.Notice, Summary: "early", Detail: "why", Range: at("a", 2, 3, 12)},
		{Severity: jobspec.Error, Summary: "also nowhere"},
	}
	list.Sort()
	if got, want := list.Error(), "a:2,3: early: why\na:9,1: late\nb:1,1: elsewhere\nnowhere\nalso nowhere"; got != want {
		t.Errorf("it is\n%s\nnot\n%s", got, want)
	}
	var severities []string
	for _, d := range list {
		severities = append(severities, d.Severity.String())
	}
	if diff := cmp.Diff([]string{"notice", "warning", "error", "hint", "error"}, severities); diff != "" {
		t.Error(diff)
	}
	if errors := list.Errors(); len(errors) != 2 || errors[0].Summary != "elsewhere" || !list.HasErrors() {
		t.Errorf("the errors are %v", errors)
	}
	if list[:2].HasErrors() || list[:2].Errors() != nil {
		t.Error("there is an error among the others")
	}
	for text, r := range map[string]jobspec.Range{"": {}, "f:0,0": {File: "f"}, ":1,2": {Start: jobspec.Pos{Line: 1, Column: 2}}} {
		if got := r.String(); got != text || r.IsZero() != (text == "") {
			t.Errorf("it is %q, not %q", got, text)
		}
	}
}

// Errors that are too many to show are counted.
func TestManyErrors(t *testing.T) {
	t.Parallel()
	_, diags := jobspec.Parse(jobspec.Source{Name: "many.nomad.hcl", Text: []byte(strings.Repeat("a = 1\n", 1_235))}, jobspec.Options{})
	last := len(diags) - 1
	if last != 1000 || diags[0].Remedy == "" || diags[last].Summary != "there are 234 more diagnostics" || diags[last].Severity != jobspec.Error {
		t.Errorf("%d diagnostics end with %+v", len(diags), diags[max(last, 0)])
	}
}

// A path without a place has that of the nearest block around it.
func TestPositions(t *testing.T) {
	t.Parallel()
	at := func(line int) jobspec.Range { return jobspec.Range{File: "f", Start: jobspec.Pos{Line: line}} }
	positions := jobspec.Positions{
		"job": at(1), "job.group[0]": at(2), "job.group[0].task[0].driver": at(4), "job.group[0].network": at(5), "job.group[0].task[0]": at(3),
	}
	for path, line := range map[jobspec.Path]int{
		"job": 1, "job.name": 1, "job.group[0].count": 2, "job.group[1]": 1, "job.group[1].count": 1, "job.group": 2, "job.group.count": 2,
		"job.group[0].task[0].driver.x": 4, "job.group[0].network[0]": 5, "job.group[0].network[0].mode": 5, "job.group[0].network[1].mode": 5, "": 0, "other": 0,
	} {
		if got := positions.At(path).Start.Line; got != line {
			t.Errorf("%q is at line %d, not %d", path, got, line)
		}
	}
}
