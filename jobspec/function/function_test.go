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

// The names that https://developer.hashicorp.com/nomad/docs/reference/hcl2/functions
// lists, and those it leaves out.
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

func TestSizeEndsEarly(t *testing.T) {
	t.Parallel()
	v := cty.StringVal("x")
	for range 60 { // 2^60 strings, if they were counted
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
