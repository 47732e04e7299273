package decode_test

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"

	"taskrun/jobspec/decode"
	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/evaluate"
	"taskrun/jobspec/function"
	"taskrun/jobspec/syntax"
)

type limits struct {
	Memory int        `hcl:"memory,optional"`
	Share  int        `hcl:"share,optional"`
	Ratio  *big.Float `hcl:"ratio,optional"`
	Signed int8       `hcl:"signed,optional"`
	Byte   uint8      `hcl:"byte,optional"`
}

type group struct {
	Limits *limits        `hcl:"limits,block"`
	Others []*limits      `hcl:"other,block"`
	Item   []*inner       `hcl:"item,block"`
	Sizes  []int          `hcl:"sizes,optional"`
	Config map[string]any `hcl:"config,block"`
	outer2
}

type outer2 struct {
	Users   string            `hcl:"users,optional"`
	Enabled bool              `hcl:"enabled,optional"`
	Wait    *string           `hcl:"wait,optional"`
	Env     map[string]string `hcl:"env,either"`
}

// said decodes a text and returns all diagnostics, with places and remedies.
func said(t *testing.T, text string, target any, place decode.Place) []string {
	t.Helper()
	body, diags := syntax.Parse([]byte(text), "t")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	d := decode.Decoder{Scope: evaluate.NewScope(function.Table(""), map[string][]byte{"t": []byte(text)})}
	var lines []string
	for _, diag := range d.Decode("group", hcl.Range{}, body, target, place) {
		at := d.Scope.InSource(*diag.Subject)
		line := fmt.Sprintf("%d:%d-%d %s", at.Start.Line, at.Start.Column, at.End.Column, diag.Summary)
		detail, remedy := diag.Detail, diagnostic.Remedy(diag)
		detail = strings.TrimSuffix(strings.TrimSuffix(detail, remedy), "\n")
		lines = append(lines, strings.Join([]string{line, detail, remedy}, " | "))
	}
	slices.Sort(lines)
	return lines
}

// A diagnostic names the place, the reason, and what to write instead.
func TestRemedies(t *testing.T) {
	t.Parallel()
	for source, want := range map[string][]string{
		"user = 1":                           {`1:1-5 unknown attribute "user" in group |  | did you mean "users"?`},
		"memory = 1":                         {`1:1-7 unknown attribute "memory" in group |  | it belongs in the resources block`},
		"share = 1":                          {`1:1-6 unknown attribute "share" in group |  | `},
		"count = 1":                          {`1:1-6 unknown attribute "count" in group |  | it belongs in the group block`},
		"nope = 1":                           {`1:1-5 unknown attribute "nope" in group |  | `},
		"value = 1":                          {`1:1-6 unknown attribute "value" in group |  | it belongs in the item block`},
		"usesr = 1":                          {`1:1-6 unknown attribute "usesr" in group |  | did you mean "users"?`},
		"limits = {}":                        {`1:1-7 "limits" must be a block |  | leave out the equals sign: limits {`},
		"users {}":                           {`1:1-6 "users" must be an attribute |  | write users = …`},
		"limit {}":                           {`1:1-6 unknown block "limit" in group |  | did you mean "limits"?`},
		"limits {\n user = 1\n}":             {`2:2-6 unknown attribute "user" in limits | it may hold byte, memory, ratio, share, signed | it belongs in the task block`},
		"limits {\n cpu = 1\n}":              {`2:2-5 unknown attribute "cpu" in limits | it may hold byte, memory, ratio, share, signed | it belongs in the resources block`},
		"limits \"a\" {}":                    {`1:8-11 "a" is not expected after limits | a limits block has no name | delete it`},
		"item \"a\" \"b\" {}":                {`1:10-13 "b" is not expected after item | a item block has one name | delete it`},
		"item {}":                            {`1:6-7 this item has no name |  | write item "name" {`},
		"limits {}\nlimits {}":               {`2:1-7 "limits" is given twice | only one is allowed here; the first is on line 1 | `},
		"sizes = \"1\"":                      {`1:9-12 "sizes" must be a list of whole numbers | it is the string "1" | `},
		"sizes = [1, 2.5]":                   {`1:13-16 "sizes"[1] must be a whole number | it is the number 2.5; it has a fraction | `},
		"enabled = \"Yes\"":                  {`1:11-16 "enabled" must be true or false | it is the string "Yes" | write true`},
		"enabled = \"off\"":                  {`1:11-16 "enabled" must be true or false | it is the string "off" | write false`},
		"enabled = \"maybe\"":                {`1:11-18 "enabled" must be true or false | it is the string "maybe" | `},
		"limits {\n memory = \"256 MiB\"\n}": {`2:11-20 "memory" must be a whole number | it is the string "256 MiB" | write 256, without a unit`},
		"limits {\n memory = \"${x}\"\n}":    {`2:11-17 "memory" must be a whole number | ${x} is known only when the task runs; this must be known before | `},
		"limits {\n memory = \"MB\"\n}":      {`2:11-15 "memory" must be a whole number | it is the string "MB" | `},
		"limits {\n memory = \"$x}\"\n}":     {`2:11-16 "memory" must be a whole number | it is the string "$x}" | `},
		"limits {\n signed = -129\n}":        {`2:11-15 "signed" must be a whole number | it is the number -129; it must be between -128 and 127 | `},
		"limits {\n byte = 256\n}":           {`2:9-12 "byte" must be a whole number | it is the number 256; it must be between 0 and 255 | `},
		"limits {\n signed = -128\n}":        nil,
		"limits {\n signed = 128\n}":         {`2:11-14 "signed" must be a whole number | it is the number 128; it must be between -128 and 127 | `},
		"limits {\n ratio = []\n}":           {`2:10-12 "ratio" must be a number | it is a list | `},
		"config {\n a = [1, 1e400]\n}":       {`2:6-16 cannot use the value of "a" | the number is too large | `},
		"config {\n a = { b = 1e400 }\n}":    {`2:6-19 cannot use the value of "a" | the number is too large | `},
		"config {\n a = 1e400\n}":            {`2:6-11 cannot use the value of "a" | the number is too large | `},
		"config {\n a = 1\n a {}\n}":         {`2:2-3 "a" is given as an attribute and as a block | the block on line 3 takes its place | delete one of them`},
		"env = {\n a = \"x\"\n b = []\n}":    {`3:6-8 "b" must be a string | it is a list | `},
		"env {\n a = 1\n b {}\n}":            {`3:2-3 unknown block "b" in env | env holds attributes only | `},
		"env = []":                           {`1:7-9 "env" must be a map of strings | it is a list | `},
		"dynamic \"item\" {\n for_each = null\n labels = [\"a\"]\n content {}\n}": {"2:13-17 for_each must be a list, a set, a map or an object | it is null | "},
		"dynamic \"limits\" {\n for_each = [1, 2]\n nope = 1\n iterator = a.b\n}": {"1:18-18 this dynamic block has no content block | it is the body of every limits that is generated | add content { … }", `3:2-6 unknown attribute "nope" in a dynamic block | it may hold for_each, iterator, labels | `, "4:13-16 the iterator of a dynamic block must be a bare name |  | "},
		"dynamic \"items\" {\n}": {`1:9-16 unknown block "items" in this block |  | did you mean "item"?`},
		"dynamic {\n}":           {`1:9-10 this dynamic has no name |  | write dynamic "name" {`},
		"dynamic \"item\" {\n for_each = [1]\n labels = [[]]\n content {}\n content {}\n}": {`5:2-9 "content" is given twice | only one is allowed here; the first is on line 4 | `},
	} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(want, said(t, source, &group{}, decode.Nowhere{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
