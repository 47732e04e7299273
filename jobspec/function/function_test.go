package function_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/function"
)

// The names in
// https://developer.hashicorp.com/nomad/docs/reference/hcl2/functions, and
// those that are missing there.
const names = `abs abspath base64decode base64encode basename bcrypt can ceil chomp chunklist cidrhost cidrnetmask cidrsubnet
cidrsubnets coalesce coalescelist compact concat contains convert csvdecode dirname distinct element file filebase64 fileexists
fileset flatten floor format formatdate formatlist indent index join jsondecode jsonencode keys length log lookup lower max md5
merge min parseint pathexpand pow range regex_replace replace reverse rsadecrypt setintersection setproduct setunion sha1 sha256
sha512 signum slice sort split strlen strrev substr timeadd title trim trimprefix trimspace trimsuffix try upper urlencode uuidv4
uuidv5 values yamldecode yamlencode zipmap`

func TestTableHasNomadsFunctions(t *testing.T) {
	t.Parallel()
	want := strings.Fields(names)
	if len(want) != 83 {
		t.Fatalf("%d names", len(want))
	}
	for where, table := range map[string]int{
		"Table":             len(function.Table("")),
		"TableWithoutFiles": len(function.TableWithoutFiles()),
	} {
		if table != len(want) {
			t.Errorf("%s has %d functions", where, table)
		}
	}
	if got := slices.Sorted(maps.Keys(function.Table(""))); !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestFilesAreRelativeToTheBaseDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	name := []cty.Value{cty.StringVal("a.txt")}
	got, err := function.Table(dir)["file"].Call(name)
	if err != nil || got.AsString() != "hello" {
		t.Errorf("file: %#v, %v", got, err)
	}
	for _, f := range []string{"file", "fileexists", "basename", "abspath"} {
		if _, err := function.TableWithoutFiles()[f].Call(name); err == nil {
			t.Errorf("%s may be called without files", f)
		}
	}
}

func TestReadFilesAreNoted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var noted []string
	table := function.TableNoting(dir, func(path string) { noted = append(noted, path) })
	args := func(texts ...string) (list []cty.Value) {
		for _, text := range texts {
			list = append(list, cty.StringVal(text))
		}
		return list
	}
	for _, c := range []struct {
		function string
		args     []cty.Value
	}{
		{"file", args("none.txt")},
		{"fileexists", args("/none/x.txt")},
		{"fileset", args(".", "*.txt")},
		{"filebase64", args("a/../b")},
		{"abspath", args("other.txt")},
	} {
		_, _ = table[c.function].Call(c.args) // there are no such files
	}
	want := []string{filepath.Join(dir, "none.txt"), "/none/x.txt", dir, filepath.Join(dir, "b")}
	if !slices.Equal(noted, want) {
		t.Errorf("noted %q, want %q", noted, want)
	}
}

func TestCostlyCallsAreRefused(t *testing.T) {
	t.Parallel()
	text := cty.StringVal
	long := text(strings.Repeat("a", 1<<20))
	thousand := cty.ListVal(slices.Repeat([]cty.Value{cty.NumberIntVal(1)}, 1000))
	for name, test := range map[string]struct {
		function string
		args     []cty.Value
		refused  bool
	}{
		"format, plain":       {"format", []cty.Value{text("%05d of 100%%"), cty.NumberIntVal(1)}, false},
		"format, wide":        {"format", []cty.Value{text("%999999d"), cty.NumberIntVal(1)}, true},
		"format, digits":      {"format", []cty.Value{text("1234567890")}, false},
		"formatlist, plain":   {"formatlist", []cty.Value{text("x%d"), thousand}, false},
		"formatlist, long":    {"formatlist", []cty.Value{long, thousand}, true},
		"indent, plain":       {"indent", []cty.Value{cty.NumberIntVal(4), text("a\nb")}, false},
		"indent, wide":        {"indent", []cty.Value{cty.NumberIntVal(1 << 30), text("a\nb")}, true},
		"join, plain":         {"join", []cty.Value{text(","), cty.ListVal([]cty.Value{text("a"), text("b")})}, false},
		"join, long":          {"join", []cty.Value{text(","), cty.ListVal(slices.Repeat([]cty.Value{long}, 100))}, true},
		"join, long between":  {"join", []cty.Value{long, cty.ListVal(slices.Repeat([]cty.Value{text("a")}, 100))}, true},
		"replace, plain":      {"replace", []cty.Value{long, text("b"), long}, false},
		"replace, much":       {"replace", []cty.Value{long, text("a"), long}, true},
		"regex_replace":       {"regex_replace", []cty.Value{text("abc"), text("b"), text("x")}, false},
		"regex_replace, much": {"regex_replace", []cty.Value{long, text("a"), long}, true},
		"setproduct":          {"setproduct", []cty.Value{thousand, cty.ListVal([]cty.Value{text("a")})}, false},
		"setproduct, much":    {"setproduct", []cty.Value{thousand, thousand}, true},
		"distinct":            {"distinct", []cty.Value{thousand}, false},
		"distinct, many":      {"distinct", []cty.Value{cty.ListVal(slices.Repeat([]cty.Value{cty.NumberIntVal(1)}, 10_001))}, true},
		"bcrypt, costly":      {"bcrypt", []cty.Value{text("a"), cty.NumberIntVal(17)}, true},
		"jsondecode":          {"jsondecode", []cty.Value{text(`[[{"a":[]}]]`)}, false},
		"jsondecode, deep":    {"jsondecode", []cty.Value{text(strings.Repeat("[", 501))}, true},
		"yamldecode, deep":    {"yamldecode", []cty.Value{text(strings.Repeat("{", 501))}, true},
		"jsonencode, shared":  {"jsonencode", []cty.Value{cty.TupleVal(slices.Repeat([]cty.Value{long}, 100))}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := function.Table("")[test.function].Call(test.args)
			if refused := err != nil; refused != test.refused {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Each limit is exact, its error has both numbers, and unknown and null values
// are ignored.
func TestLimits(t *testing.T) {
	t.Parallel()
	text, number := cty.StringVal, func(n int) cty.Value { return cty.NumberIntVal(int64(n)) }
	list := func(n int, v cty.Value) cty.Value { return cty.ListVal(slices.Repeat([]cty.Value{v}, n)) }
	const mib = 1 << 20
	long := text(strings.Repeat("a", mib))
	for _, c := range []struct {
		function string
		args     []cty.Value
		refusal  string // "": there is none
	}{
		{"format", []cty.Value{text("%99999d 12345 %d"), number(1), number(1)}, ""},
		{"format", []cty.Value{text("%100000d"), number(1)}, "a number in the format has more than 5 digits"},
		{"formatlist", []cty.Value{text("%100000d"), list(1, number(1))}, "a number in the format has more than 5 digits"},
		{"formatlist", []cty.Value{long, list(16, number(1))}, "too many arguments; no verbs in format string"},
		{"formatlist", []cty.Value{long, list(17, number(1)), list(2, number(1))}, "the result could have 17825792 bytes; at most 16777216 are allowed"},
		{"formatlist", []cty.Value{text("%s"), list(15, long)}, ""},
		{"formatlist", []cty.Value{text("%s"), list(16, long)}, "the arguments hold more than 16777216 bytes"},
		{"formatlist", []cty.Value{text("%s"), cty.NullVal(cty.List(cty.String))}, "null value cannot be formatted"},
		{"indent", []cty.Value{number(4 * mib), text("a\nb\nc\nd")}, ""},
		{"indent", []cty.Value{number(4*mib + 1), text("a\nb\nc\nd")}, "the result could have 16777220 bytes; at most 16777216 are allowed"},
		{"join", []cty.Value{text("-"), list(15, long), list(3, text("a"))}, ""},
		{"join", []cty.Value{long, list(8, text("a")), list(8, text("a"))}, ""},
		{"join", []cty.Value{long, list(8, text("a")), list(9, text("a"))}, "the result could have 17825792 bytes; at most 16777216 are allowed"},
		{"replace", []cty.Value{text(strings.Repeat("ab", 16)), text("b"), long}, ""},
		{"replace", []cty.Value{text(strings.Repeat("ab", 17)), text("b"), long}, "the result could have 17825792 bytes; at most 16777216 are allowed"},
		{"regex_replace", []cty.Value{text(strings.Repeat("a", 15)), text("b"), long}, ""},
		{"regex_replace", []cty.Value{text(strings.Repeat("a", 16)), text("b"), long}, "the result could have 17825792 bytes; at most 16777216 are allowed"},
		{"jsonencode", []cty.Value{cty.TupleVal(slices.Repeat([]cty.Value{long}, 15))}, ""},
		{"jsonencode", []cty.Value{cty.TupleVal(slices.Repeat([]cty.Value{long}, 16))}, "the arguments hold more than 16777216 bytes"},
		{"distinct", []cty.Value{list(10_000, number(1))}, ""},
		{"distinct", []cty.Value{list(10_001, number(1))}, "the list has 10001 elements; at most 10000 are compared"},
		{"setproduct", []cty.Value{list(256, number(1)), list(512, number(1))}, ""},
		{"setproduct", []cty.Value{list(256, number(1)), list(513, number(1))}, "the result could have 131328 elements; at most 131072 are allowed"},
		{"setproduct", []cty.Value{list(600, number(1)), list(600, number(1)), cty.ListValEmpty(cty.String)}, "the result could have 360000 elements; at most 131072 are allowed"},
		{"setproduct", []cty.Value{list(2, number(1)), cty.ListValEmpty(cty.String), list(600, number(1))}, ""},
		{"jsondecode", []cty.Value{text(strings.Repeat("[", 500) + strings.Repeat("]", 500))}, ""},
		{"jsondecode", []cty.Value{text("[" + strings.Repeat("[],", 600) + "{}]")}, ""},
		{"jsondecode", []cty.Value{text(strings.Repeat("[", 501))}, "the text nests brackets more than 500 levels deep"},
		{"bcrypt", []cty.Value{text("a"), number(4)}, ""},
		{"bcrypt", []cty.Value{text("a"), number(17)}, "the cost is above 16"},
		{"bcrypt", []cty.Value{text("a")}, ""},
	} {
		_, err := function.Table("")[c.function].Call(c.args)
		if c.refusal == "" && err != nil || c.refusal != "" && (err == nil || !strings.Contains(err.Error(), c.refusal)) {
			t.Errorf("%s: %v, want %q", c.function, err, c.refusal)
		}
	}
	for _, f := range []string{"format", "indent", "join", "distinct", "jsondecode"} {
		args := map[string][]cty.Value{
			"format": {cty.UnknownVal(cty.String)}, "indent": {cty.UnknownVal(cty.Number), text("a")}, "join": {text(","), cty.UnknownVal(cty.List(cty.String))},
			"distinct": {cty.UnknownVal(cty.List(cty.String))}, "jsondecode": {cty.UnknownVal(cty.String)},
		}[f]
		if v, err := function.Table("")[f].Call(args); err != nil || v.IsKnown() {
			t.Errorf("%s of what is not known: %#v, %v", f, v, err)
		}
	}
}

// Without files, a function that accesses them fails, even when its type is
// computed.
func TestWithoutFiles(t *testing.T) {
	t.Parallel()
	f := function.TableWithoutFiles()["file"]
	const want = "functions that deal with files cannot be called here"
	if _, err := f.ReturnType([]cty.Type{cty.String}); err == nil || err.Error() != want {
		t.Errorf("its type: %v", err)
	}
	if _, err := f.Call([]cty.Value{cty.StringVal("x")}); err == nil || err.Error() != want {
		t.Errorf("a call: %v", err)
	}
	if n := len(f.Params()); n != 1 || f.VarParam() != nil {
		t.Errorf("it has %d parameters", n)
	}
}

// Size counts the written text, and a little more for each element of a list or
// a map; the cost of a tuple grows with its square.
func TestSize(t *testing.T) {
	t.Parallel()
	a := cty.StringVal("a")
	for name, test := range map[string]struct {
		v    cty.Value
		want int
	}{
		"null":       {cty.NullVal(cty.List(cty.String)), 1},
		"unknown":    {cty.UnknownVal(cty.List(cty.String)), 1},
		"true":       {cty.True, 1},
		"text":       {cty.StringVal("hello"), 6},
		"zero":       {cty.Zero, 1},
		"small":      {cty.NumberIntVal(9), (4+4)/3 + 1},
		"fraction":   {cty.NumberFloatVal(0.125), (2+1)/3 + 1},
		"infinity":   {cty.PositiveInfinity, 1},
		"no list":    {cty.ListValEmpty(cty.String), 1},
		"list":       {cty.ListVal([]cty.Value{a, a}), 1 + 2*(16+2)},
		"set":        {cty.SetVal([]cty.Value{a, cty.NullVal(cty.String)}), 1 + 16 + 2 + 16 + 1},
		"object":     {cty.ObjectVal(map[string]cty.Value{"key": a}), 1 + 16 + 2 + 3},
		"map":        {cty.MapVal(map[string]cty.Value{"key": a, "k": a}), 1 + 2*(16+2) + 4},
		"tuple":      {cty.TupleVal([]cty.Value{a, cty.True}), 1 + 16 + 2 + 16 + 1},
		"long tuple": {cty.TupleVal(slices.Repeat([]cty.Value{a}, 64)), 1 + 64*64/32 + 64*(16+2)},
	} {
		if got := function.Size(test.v, 1<<30); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
	if got := function.Size(cty.ListVal(slices.Repeat([]cty.Value{a}, 1000)), 37); got != 1+3*(16+2) {
		t.Errorf("the count ends with %d", got)
	}
	object := cty.ObjectVal(map[string]cty.Value{"w": a, "x": a, "y": a, "z": a})
	if got := function.Size(object, 39); got != 1+3*(16+2+1) {
		t.Errorf("the count of an object ends with %d", got)
	}
}

func TestSizeEndsEarly(t *testing.T) {
	t.Parallel()
	v := cty.StringVal("x")
	for range 60 { // 2^60 strings, if they were all counted
		v = cty.TupleVal([]cty.Value{v, v})
	}
	if got := function.Size(v, 1000); got <= 1000 {
		t.Errorf("got %d", got)
	}
	for name, test := range map[string]struct {
		v         cty.Value
		low, high int
	}{
		"text":           {cty.StringVal("hello"), 5, 10},
		"null":           {cty.NullVal(cty.String), 0, 1},
		"number":         {cty.NumberIntVal(123456), 5, 15},
		"large number":   {cty.MustParseNumberVal("1e1000000"), 1_000_000, 2_000_000},
		"small number":   {cty.MustParseNumberVal("1e-1000000"), 1_000_000, 2_000_000},
		"list":           {cty.ListVal([]cty.Value{cty.StringVal("aa"), cty.StringVal("bb")}), 5, 60},
		"keys count too": {cty.ObjectVal(map[string]cty.Value{strings.Repeat("k", 100): cty.True}), 100, 150},
	} {
		if got := function.Size(test.v, 1<<30); got < test.low || got > test.high {
			t.Errorf("%s: %d is not in %d..%d", name, got, test.low, test.high)
		}
	}
}
