package jobspec_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/jobspec"
)

// inEnv returns a job whose env sets A to an expression.
func inEnv(expr string) []byte {
	return fmt.Appendf(nil, "variable \"v\" {\n  default = \"val\"\n}\nlocals {\n  l = \"${NOMAD_X}\"\n}\njob \"x\" {\n  task \"t\" {\n    env {\n      A = %s\n    }\n  }\n}\n", expr)
}

func TestExpressionsInEnv(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		// References that are resolved when the task runs.
		`attr.kernel.name`:                              `${attr.kernel.name}`,
		`"x-${meta.foo}-y"`:                             `x-${meta.foo}-y`,
		`"${attr.a.b[0]["z"].1}"`:                       `${attr.a.b[0]["z"].1}`,
		`"${   meta.  field[  \"FOO\"].5  }"`:           ``, // \" does not start a string in an interpolation
		`"${   meta.  field[  "FOO"].5  }"`:             `${   meta.  field[  "FOO"].5  }`,
		`"${env["HOME"]}"`:                              `${env["HOME"]}`,
		`"${~ NOMAD_X ~} x"`:                            `${NOMAD_X}x`,
		`"${NOMAD_X ~} y"`:                              `${NOMAD_X}y`,
		`"{${NOMAD_X}}"`:                                `{${NOMAD_X}}`,
		`"${NOMAD_META_a-b}"`:                           `${NOMAD_META_a-b}`,
		`"${vars.nope}"`:                                `${vars.nope}`,
		`upper(attr.x)`:                                 `${ATTR.X}`,
		`"${upper(attr.x)}-${attr.y}"`:                  `${ATTR.X}-${attr.y}`,
		`"${attr.k == "linux" ? "a" : "b"}"`:            `b`,
		`try(meta.a, "d")`:                              `${meta.a}`,
		`try(var.nope, 1)`:                              `1`,
		`can(meta.a)`:                                   `true`,
		`can(var.nope)`:                                 `false`,
		`coalesce(meta.a, "z")`:                         `${meta.a}`,
		`join(",", [for k in ["a"] : k])`:               `a`,
		`join(",", [for attr in ["a"] : attr])`:         `a`, // bound by the loop
		`join(",", [for k in ["a"] : "${attr}"])`:       `${attr}`,
		`join(",", meta.a[*])`:                          `${meta.a}`,
		`convert(meta.a, string)`:                       `${meta.a}`, // string is a type here
		`local.l`:                                       `${NOMAD_X}`,
		`var.v`:                                         `val`,
		`"%{ if NOMAD_X == "y" }a%{ else }b%{ endif }"`: `b`,

		// Escapes.
		`"$${X}"`:      `${X}`,
		`"$$${X}"`:     `$${X}`,
		`"%%{x}"`:      `%{x}`,
		`"$X %d"`:      `$X %d`,
		`"a\tb\u00e9"`: "a\tbé",

		// Conversions.
		`1.50`:                  `1.5`,
		`1e3`:                   `1000`,
		`007`:                   `7`,
		`12345678901234567890`:  `12345678901234567890`,
		`true`:                  `true`,
		`1 + 2 * 3`:             `7`,
		`length([1, 2])`:        `2`,
		`jsonencode({ a = 1 })`: `{"a":1}`,
	} {
		t.Run(expr, func(t *testing.T) {
			t.Parallel()
			file, diagnostics := jobspec.Parse(jobspec.Source{Name: "x", Text: inEnv(expr)}, jobspec.Options{})
			if want == "" {
				if !diagnostics.HasErrors() {
					t.Error("there is no error")
				}
				return
			}
			if file.Job == nil {
				t.Fatal(diagnostics)
			}
			if got := file.Job.TaskGroups[0].Tasks[0].Env["A"]; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestRangesOfFaultyExpressions(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]struct{ at, summary string }{
		`"${var.nope}"`:         {".nope", `there is no variable "nope"`},
		`[1, local.nope]`:       {".nope", `there is no local "nope"`},
		`nope(1)`:               {"nope", `there is no function "nope"`},
		`upper()`:               {")", "not enough function arguments"},
		`jsondecode("{")`:       {`jsondecode("{")`, "jsondecode() fails"},
		`[1]`:                   {"[1]", `"A" must be a string`},
		`null`:                  {"null", `"A" must be a string`},
		`NOMAD_ALLOC_INDEX + 1`: {"NOMAD_ALLOC_INDEX", "invalid operand"},
		`var.v.x`:               {".x", "unsupported attribute"},
		`var`:                   {"var", `"A" must be a string`},
		`0 / 0`:                 {"0 / 0", "operation failed"},
		`[for x in meta.a : x]`: {"meta.a", "iteration over non-iterable value"},
		`"${1 + true && "x"}"`:  {`"x"`, "invalid operand"},
		`local.l[meta.b].c`:     {"[meta.b]", "invalid index"},
	} {
		t.Run(expr, func(t *testing.T) {
			t.Parallel()
			text := inEnv(expr)
			_, diagnostics := jobspec.Parse(jobspec.Source{Name: "x", Text: text}, jobspec.Options{})
			if len(diagnostics) == 0 {
				t.Fatal("nothing is found")
			}
			var said []string
			for _, p := range diagnostics {
				at := string(text[p.Range.Start.Byte:p.Range.End.Byte])
				if p.Severity == jobspec.Error && at == want.at && strings.Contains(p.Summary, want.summary) {
					return
				}
				said = append(said, fmt.Sprintf("%q: %s", at, p.Error()))
			}
			t.Errorf("want %q at %q, got\n%s", want.summary, want.at, strings.Join(said, "\n"))
		})
	}
}

// Functions of Terraform that job files lack have remedies.
func TestRemediesForUnknownFunctions(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"tostring":     "write convert(value, string)",
		"tobool":       "write convert(value, bool)",
		"tolist":       "write convert(value, list(string))",
		"tomap":        "write convert(value, map(string))",
		"regexall":     "there is only regex_replace(text, pattern, replacement); a text that it changes matches the pattern",
		"templatefile": "use a template block, or file() with replace()",
		"env":          `declare a variable and set it with NOMAD_VAR_name; at run time write "${env["NAME"]}" or "${NAME}"`,
		"endswith":     "compare with substr(), or use regex_replace()",
		"timestamp":    "pass the time in as a variable",
		"one":          "write value[0]",
		"anytrue":      "use contains() on the list",
		"sum":          "write a for expression",
		"uper":         `did you mean "upper"?`,
		"tothing":      "",
	} {
		_, diagnostics := jobspec.Parse(jobspec.Source{Name: "x", Text: inEnv(name + `("x")`)}, jobspec.Options{})
		if len(diagnostics) != 1 || diagnostics[0].Summary != fmt.Sprintf("there is no function %q", name) || diagnostics[0].Remedy != want {
			t.Errorf("%s: %v, remedy %q, want %q", name, diagnostics, diagnostics[0].Remedy, want)
		}
		hidden := inEnv("try(" + name + `("x"), "y")`)
		_, diagnostics = jobspec.Parse(jobspec.Source{Name: "x", Text: hidden}, jobspec.Options{})
		if len(diagnostics) != 1 || diagnostics[0].Severity != jobspec.Warning || diagnostics[0].Remedy != want ||
			diagnostics[0].Detail != "try() hides this error" {
			t.Errorf("hidden by try, %s: %v, want a warning with remedy %q", name, diagnostics, want)
		}
	}
}

func TestConfigKeepsWhatIsWritten(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`a = 1`:                           `{"a":1}`,
		`a = 1.0`:                         `{"a":1}`,
		`a = 0.5`:                         `{"a":0.5}`,
		`a = null`:                        `{}`,
		`a = [1, null]`:                   `{"a":[1,null]}`,
		`a = {}`:                          `{"a":[{}]}`,
		`a = []`:                          `{"a":[]}`,
		`a = { x = 1, y = { z = 2 } }`:    `{"a":[{"x":1,"y":{"z":2}}]}`,
		`a = merge({ x = 1 }, {})`:        `{"a":{"x":1}}`,
		`a = ({ x = 1 })`:                 `{"a":{"x":1}}`,
		`a = [{ x = 1 }]`:                 `{"a":[{"x":1}]}`,
		"a {\n x = 1\n}":                  `{"a":[{"x":1}]}`,
		"a {\n x = null\n}":               `{"a":[{"x":null}]}`,
		"a {\n x = 1\n}\na {\n x = 2\n}":  `{"a":[{"x":1},{"x":2}]}`,
		"a \"p\" \"q\" {\n x = 1\n}":      `{"a":[{"p":[{"q":[{"x":1}]}]}]}`,
		"a \"p\" {}\na \"q\" {}":          `{"a":[{"p":[{}]},{"q":[{}]}]}`,
		"a {\n b {\n c = { d = 1 }\n}\n}": `{"a":[{"b":[{"c":[{"d":1}]}]}]}`,
		"dynamic \"a\" {\n for_each = [1, 2]\n content {\n x = a.value\n y = attr.z\n}\n}":                            `{"a":[{"x":1,"y":"${attr.z}"},{"x":2,"y":"${attr.z}"}]}`,
		"dynamic \"a\" {\n for_each = { k = 1 }\n iterator = it\n labels = [it.key]\n content {\n x = it.value\n}\n}": `{"a":[{"k":[{"x":1}]}]}`,
		"dynamic \"a\" {\n for_each = []\n content {}\n}":                                                             `{}`,
		`a = "${NOMAD_PORT_http}"`: `{"a":"${NOMAD_PORT_http}"}`,
	} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			text := "job \"x\" {\n task \"t\" {\n config {\n" + body + "\n}\n}\n}\n"
			file, diagnostics := jobspec.Parse(jobspec.Source{Name: "x", Text: []byte(text)}, jobspec.Options{})
			if file.Job == nil {
				t.Fatal(diagnostics)
			}
			got, err := json.Marshal(file.Job.TaskGroups[0].Tasks[0].Config)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPlacesInJSONStringsWithEscapes(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`"${var.nope}"`:                         ".nope",
		`"\"q\" ${var.nope}"`:                   ".nope",
		`"a\nb\n\tc ${var.nope} \n"`:            ".nope",
		`"\u00e9 \u65e5 ${var.nope}"`:           ".nope",
		`"\ud83d\ude00 ${var.nope}"`:            ".nope",
		`"\ud83d ${var.nope}"`:                  ".nope",
		`"é 日 ${var.nope}"`:                     ".nope",
		`"x", "B": "\n${nope(\"é\\n\")}"`:       "nope",
		`["\n", "\n${var.nope}"]`:               ".nope",
		`["\n", 1, {}]`:                         "[\"\\n\", 1, {}]",
		`"\n${1 +}"`:                            "}",
		`"x", "${upper(\"\")}${var.nope}": "y"`: ".nope",
	} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			text := `{"job": {"x": {"task": {"t": {` + "\n" + `"env": {"A": ` + value + `}}}}}}`
			_, diagnostics := jobspec.Parse(jobspec.Source{Name: "x.json", Text: []byte(text)}, jobspec.Options{})
			if len(diagnostics) != 1 {
				t.Fatalf("got %v", diagnostics)
			}
			r := diagnostics[0].Range
			if got := text[r.Start.Byte:r.End.Byte]; got != want || r.Start.Line != 2 {
				t.Errorf("got %q on line %d, want %q: %v", got, r.Start.Line, want, diagnostics)
			}
		})
	}
}
