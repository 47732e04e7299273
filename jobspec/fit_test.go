package jobspec_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"taskrun/jobspec"
)

// TestSamples lists the values that an unset variable may have, the likeliest
// first.
func TestSamples(t *testing.T) {
	t.Parallel()
	texts := []string{
		`"1"`, `"10s"`, `"256"`, `"8080"`, `"127.0.0.1"`, `"@daily"`, `"docker"`, `"service"`, `"host"`, `"true"`, `"TODO=1"`,
		`"0 9 * * MON-FRI *"`, `"0 17"`, `"/dev/null"`,
		`"x"`, // the job file, for variables that name a file
	}
	for declaration, want := range map[string][]string{
		`variable "v" {}`:                                                            append(append([]string{`"TODO-v"`}, texts...), `["TODO-v"]`, `{}`),
		`variable "v" { type = string }`:                                             append([]string{`"TODO-v"`}, texts...),
		`variable "v" { type = number }`:                                             {`1`, `256`, `8080`},
		`variable "v" { type = bool }`:                                               {`false`, `true`},
		`variable "v" { type = list(number) }`:                                       {`[1]`},
		`variable "v" { type = set(string) }`:                                        {`["TODO-v"]`},
		`variable "v" { type = map(string) }`:                                        {`{}`},
		`variable "v" { type = tuple([string]) }`:                                    {`["TODO-v"]`},
		`variable "v" { type = object({ a = object({ b = string }), c = number }) }`: {"{\n  a = {\n    b = \"TODO-v.a.b\"\n  }\n  c = 1\n}"},
		"variable \"v\" {\n type = string\n validation {\n condition = contains([\"fast\", \"1\"], var.v)\n error_message = \"a\"\n}\n}": append([]string{`"TODO-v"`, `"fast"`}, texts...),
		"variable \"v\" {\n type = list(string)\n validation {\n condition = var.v[0] == \"only\"\n error_message = \"a\"\n}\n}":         {`["TODO-v"]`, `["only"]`},
	} {
		file, diagnostics := jobspec.Parse(jobspec.Source{Name: "x", Text: withVariables(declaration, `"x"`)}, jobspec.Options{Outline: true})
		if len(diagnostics) > 0 || len(file.Unset) != 1 {
			t.Errorf("%s: %v, %v", declaration, diagnostics, file.Unset)
			continue
		}
		var got []string
		for _, value := range file.Unset[0].Samples {
			got = append(got, string(hclwrite.TokensForValue(value).Bytes()))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", declaration, diff)
		}
	}
}
