package decode_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/decode"
	"taskrun/jobspec/evaluate"
	"taskrun/jobspec/function"
	"taskrun/jobspec/syntax"
)

type inner struct {
	Name  string `hcl:",label"`
	Value int    `hcl:"value,optional"`
}

type outer struct {
	Text     string              `hcl:"text,optional"`
	Pointer  *string             `hcl:"pointer,optional"`
	Flag     bool                `hcl:"flag,optional"`
	Whole    int64               `hcl:"whole,optional"`
	Small    uint8               `hcl:"small,optional"`
	Wait     time.Duration       `hcl:"wait,optional"`
	Waits    *time.Duration      `hcl:"waits,optional"`
	List     []string            `hcl:"list,optional"`
	Numbers  []uint16            `hcl:"numbers,optional"`
	Map      map[string]string   `hcl:"map,optional"`
	Either   map[string]string   `hcl:"either,either"`
	Plain    map[string]string   `hcl:"plain,block"`
	Lists    map[string][]string `hcl:"lists,block"`
	Free     map[string]any      `hcl:"free,block"`
	Single   *inner              `hcl:"single,block"`
	Pointers []*inner            `hcl:"item,block"`
	Structs  []inner             `hcl:"struct,block"`
	Keyed    map[string]*inner   `hcl:"keyed,block"`
	Hidden   string
}

// decodeInto decodes a text and returns the errors.
func decodeInto(t *testing.T, text string, target any, d decode.Decoder) []string {
	t.Helper()
	body, diags := syntax.Parse([]byte(text), "t")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	d.Scope = evaluate.NewScope(function.Table(""), map[string][]byte{"t": []byte(text)})
	var said []string
	for _, diag := range d.Decode("outer", hcl.Range{}, body, target, decode.Nowhere{}) {
		severity := ""
		if diag.Severity == hcl.DiagWarning {
			severity = "warning: "
		}
		said = append(said, fmt.Sprintf("%d: %s%s", diag.Subject.Start.Line, severity, diag.Summary))
	}
	slices.Sort(said)
	return said
}

func TestDecodeFillsEveryKindOfField(t *testing.T) {
	t.Parallel()
	text, wait := "p", 1500*time.Millisecond
	for source, want := range map[string]outer{
		`text = 1.50`:                  {Text: "1.5"},
		`pointer = "p"`:                {Pointer: &text},
		`pointer = null`:               {},
		`flag = "true"`:                {Flag: true},
		`whole = "3.0"`:                {Whole: 3},
		`whole = -9223372036854775808`: {Whole: -9223372036854775808},
		`small = 255`:                  {Small: 255},
		`wait = "1.5s"`:                {Wait: wait},
		`waits = 1500000000`:           {Waits: &wait},
		`list = ["a", 1, true]`:        {List: []string{"a", "1", "true"}},
		`list = convert(["b", "a", "b"], set(string))`: {List: []string{"a", "b"}},
		`list = []`:                                  {List: []string{}},
		`list = null`:                                {},
		`numbers = ["80", 443]`:                      {Numbers: []uint16{80, 443}},
		`map = { "a.b" = 1 }`:                        {Map: map[string]string{"a.b": "1"}},
		`either = { a = 1 }`:                         {Either: map[string]string{"a": "1"}},
		"either {\n a = 1\n}":                        {Either: map[string]string{"a": "1"}},
		`either {}`:                                  {Either: map[string]string{}},
		"plain {\n a = 1\n b = \"x\"\n}":             {Plain: map[string]string{"a": "1", "b": "x"}},
		"lists {\n a = [1]\n}":                       {Lists: map[string][]string{"a": {"1"}}},
		"free {\n a = 1\n b = { c = 0.5 }\n}":        {Free: map[string]any{"a": 1, "b": []any{map[string]any{"c": 0.5}}}},
		"item \"a\" {\n value = 1\n}\nitem \"b\" {}": {Pointers: []*inner{{"a", 1}, {Name: "b"}}},
		"struct \"a\" {\n value = 1\n}\nstruct b {}": {Structs: []inner{{"a", 1}, {Name: "b"}}},
		"keyed \"a\" {\n value = 1\n}":               {Keyed: map[string]*inner{"a": {"a", 1}}},
		`list = convert([], set(string))`:            {List: []string{}},
		`numbers = null`:                             {},
		`map = null`:                                 {},
		`map = convert({ a = 1 }, map(string))`:      {Map: map[string]string{"a": "1"}},
		`single "a" { value = 3 }`:                   {Single: &inner{"a", 3}},
		"free {\n a = true\n b = null\n c = { d = null }\n e = [null, false]\n f = convert([1], set(number))\n g \"x\" \"y\" {\n h = null\n}\n}": {Free: map[string]any{
			"a": true, "c": []any{map[string]any{"d": nil}}, "e": []any{nil, false}, "f": []any{1},
			"g": []any{map[string]any{"x": []any{map[string]any{"y": []any{map[string]any{"h": nil}}}}}},
		}},
		"dynamic \"struct\" {\n for_each = { b = 2, a = 1 }\n iterator = each\n labels = [each.key]\n content {\n value = each.value\n}\n}":                     {Structs: []inner{{"a", 1}, {"b", 2}}},
		"dynamic \"item\" {\n for_each = convert([\"y\", \"x\"], set(string))\n labels = [item.key]\n content {\n value = item.key == item.value ? 1 : 0\n}\n}": {Pointers: []*inner{{"x", 1}, {"y", 1}}},
		"dynamic \"plain\" {\n for_each = [1]\n content {\n a = plain.value\n}\n}":                                                                              {Plain: map[string]string{"a": "1"}},
		"item \"first\" {}\ndynamic \"item\" {\n for_each = []\n labels = [\"x\"]\n content {}\n}\nitem \"last\" {}":                                            {Pointers: []*inner{{Name: "first"}, {Name: "last"}}},
		"free {\n dynamic \"b\" {\n for_each = [1, 2]\n labels = [\"l${b.value}\"]\n content {\n v = b.value\n}\n}\n}":                                          {Free: map[string]any{"b": []any{map[string]any{"l1": []any{map[string]any{"v": 1}}}, map[string]any{"l2": []any{map[string]any{"v": 2}}}}}},
		`{"dynamic": {"item": {"for_each": ["x"], "iterator": "it", "labels": ["${it.value}"], "content": {"value": "${it.key}"}}}}`:                            {Pointers: []*inner{{"x", 0}}},
		"dynamic \"item\" {\n for_each = [\"x\", \"y\"]\n labels = [item.value]\n content {\n value = item.key\n}\n}":                                           {Pointers: []*inner{{"x", 0}, {"y", 1}}},
		`{"text": "${1 + 1}", "item": {"a": {"value": 2}, "b": [{}, {"value": 3}]}}`:                                                                            {Text: "2", Pointers: []*inner{{"a", 2}, {Name: "b"}, {"b", 3}}},
		`{"either": {"${\"k\"}": "v"}, "plain": {"a": 1}, "//": "a comment"}`:                                                                                   {Either: map[string]string{"k": "v"}, Plain: map[string]string{"a": "1"}},
	} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			var got outer
			if said := decodeInto(t, source, &got, decode.Decoder{}); len(said) > 0 {
				t.Fatal(said)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeReportsAllErrors(t *testing.T) {
	t.Parallel()
	for source, want := range map[string][]string{
		`nope = 1`:                       {`1: unknown attribute "nope" in outer`},
		`nope {}`:                        {`1: unknown block "nope" in outer`},
		`hidden = 1`:                     {`1: unknown attribute "hidden" in outer`},
		`single = {}`:                    {`1: "single" must be a block`},
		`text {}`:                        {`1: "text" must be an attribute`},
		`text = null`:                    {`1: "text" must be a string`},
		`text = []`:                      {`1: "text" must be a string`},
		`flag = 1`:                       {`1: "flag" must be true or false`},
		`whole = 1.5`:                    {`1: "whole" must be a whole number`},
		`whole = 9223372036854775808`:    {`1: "whole" must be a whole number`},
		`small = 256`:                    {`1: "small" must be a whole number`},
		`small = -1`:                     {`1: "small" must be a whole number`},
		`wait = "5"`:                     {`1: "wait" must be a duration`},
		`wait = true`:                    {`1: "wait" must be a duration`},
		`wait = 5`:                       {`1: warning: "wait" is 5 nanoseconds`},
		`list = "a"`:                     {`1: "list" must be a list of strings`},
		"list = [\n \"a\",\n null,\n]":   {`3: "list"[1] must be a string`},
		`numbers = [65536]`:              {`1: "numbers"[0] must be a whole number`},
		"map = {\n a = 1\n b = []\n}":    {`3: "b" must be a string`},
		"plain {\n a {}\n}":              {`2: unknown block "a" in plain`},
		"either {}\neither {}":           {`2: "either" is given twice`},
		"either = {}\neither {}":         {`2: "either" is given twice`},
		"single \"x\" {}\n":              nil, // single has its own label
		"plain \"x\" {}":                 {`1: "x" is not expected after plain`},
		"item {}":                        {`1: this item has no name`},
		"item \"a\" \"b\" {}":            {`1: "b" is not expected after item`},
		"keyed \"a\" {}\nkeyed \"a\" {}": {`2: warning: keyed "a" is given twice`},
		"text = nope()\nflag = 2\nfree {\n a = var.b\n}": {`1: Call to unknown function`, `2: "flag" must be true or false`},
		`numbers = "1"`:                      {`1: "numbers" must be a list of whole numbers`},
		`either = 1`:                         {`1: "either" must be a map of strings`},
		"free {\n a = upper\n b = nope()\n}": {`3: Call to unknown function`},
		"free {\n a = 1\n a {}\n}":           {`2: warning: "a" is given as an attribute and as a block`},
		"item \"a\" {\n value = nope()\n}\nplain {\n a = nope()\n b = 1\n}":           {`2: Call to unknown function`, `5: Call to unknown function`},
		"dynamic \"item\" {\n for_each = nope()\n labels = [\"a\"]\n content {}\n}":   {`2: Call to unknown function`},
		"dynamic \"item\" {\n for_each = [1, 2]\n labels = [nope()]\n content {}\n}":  {`3: Call to unknown function`}, // reported once
		"dynamic \"item\" \"x\" {\n for_each = [1]\n content {}\n}":                   {`1: "x" is not expected after dynamic`},
		"dynamic \"single\" {\n for_each = [1, 2]\n labels = [\"a\"]\n content {}\n}": {`1: "single" is given twice`},
		"dynamic \"single\" {\n for_each = [1]\n labels = [\"a\"]\n content {}\n}":    nil,
		"dynamic \"item\" {}":                                                                   {`1: "for_each" is missing in this dynamic block`, `1: "labels" is missing in this dynamic block`, `1: this dynamic block has no content block`},
		"dynamic \"nope\" {\n for_each = []\n content {}\n}":                                    {`1: unknown block "nope" in this block`},
		"dynamic \"item\" {\n for_each = 1\n labels = [\"a\"]\n content {}\n}":                  {`2: for_each must be a list, a set, a map or an object`},
		"dynamic \"item\" {\n for_each = [1]\n labels = \"a\"\n content {}\n}":                  {`3: "labels" must be a list of strings`},
		"dynamic \"item\" {\n for_each = [1]\n labels = []\n content {}\n}":                     {`4: this item has no name`},
		"dynamic \"item\" {\n for_each = [1]\n labels = [\"a\"]\n iterator = 1\n content {}\n}": {`4: the iterator of a dynamic block must be a bare name`},
		"dynamic \"plain\" {\n for_each = [1]\n content {}\n content {}\n nope {}\n}":           {`4: "content" is given twice`, `5: unknown block "nope" in a dynamic block`},
	} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			var got outer
			if diff := cmp.Diff(want, decodeInto(t, source, &got, decode.Decoder{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Generated blocks are paid for, so that a few lines cannot exhaust the memory.
func TestGeneratedBlocksAreBounded(t *testing.T) {
	t.Parallel()
	const source = "dynamic \"item\" {\n for_each = range(1000)\n labels = [\"a\"]\n content {}\n}\n"
	for times, want := range map[int][]string{10: nil, 20: {"81: the values of this file grow too large"}} {
		var got outer
		said := decodeInto(t, strings.Repeat(source, times), &got, decode.Decoder{})
		if len(said) > 0 {
			said = said[:1]
		}
		if diff := cmp.Diff(want, said); diff != "" {
			t.Errorf("%d times (-want +got):\n%s", times, diff)
		}
		if n := len(got.Pointers); n < 1000*min(times, 12) || n > 16<<10 {
			t.Errorf("%d times: %d blocks", times, n)
		}
	}
}

// An unknown value is neither reported nor stored.
func TestUnknownValuesAreLeftOut(t *testing.T) {
	t.Parallel()
	body, diags := syntax.Parse([]byte("text = var.later\nlist = [var.later]\nflag = true\nfree {\n a = var.later\n b = 1\n}\n"), "t")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	d := decode.Decoder{Scope: evaluate.NewScope(function.Table(""), nil)}
	d.Scope.Define("var", cty.ObjectVal(map[string]cty.Value{"later": cty.UnknownVal(cty.String)}))
	var got outer
	if diags := d.Decode("outer", hcl.Range{}, body, &got, decode.Nowhere{}); len(diags) > 0 {
		t.Error(diags)
	}
	if diff := cmp.Diff(outer{Flag: true, Free: map[string]any{"b": 1}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Values that depend on a secret are concealed, also in a generated block.
func TestGeneratedBlocksAreConcealed(t *testing.T) {
	t.Parallel()
	const source = "dynamic \"item\" {\n for_each = var.secret\n labels = [\"a\"]\n content {\n value = item.value\n}\n}\nwhole = 1 + 1\n"
	body, diags := syntax.Parse([]byte(source), "t")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	scope := evaluate.NewScope(function.Table(""), nil)
	scope.Define("var", cty.ObjectVal(map[string]cty.Value{"secret": cty.TupleVal([]cty.Value{cty.NumberIntVal(4711)})}))
	scope.Conceal("var", "secret")
	d := decode.Decoder{Scope: scope}
	if diags := d.Decode("outer", hcl.Range{}, body, new(outer), decode.Nowhere{}); diags.HasErrors() {
		t.Fatal(diags)
	}
	var got []int
	for _, c := range scope.Concealed() {
		got = append(got, c.Range.Start.Line)
	}
	if !slices.Equal(got, []int{2, 5}) {
		t.Errorf("concealed are lines %v", got)
	}
}

func TestStaticKnowsNoDynamicBlocks(t *testing.T) {
	t.Parallel()
	const source = "dynamic \"item\" {\n for_each = [1]\n labels = [\"a\"]\n content {}\n}"
	var got outer
	want := []string{`1: unknown block "dynamic" in outer`}
	if diff := cmp.Diff(want, decodeInto(t, source, &got, decode.Decoder{Static: true})); diff != "" {
		t.Error(diff)
	}
}

// form is the form of inner: twice the value, which is required.
type form struct {
	*inner

	Half int `hcl:"half"`
}

func (f *form) Finish(b decode.Block) hcl.Diagnostics {
	f.Value = 2 * f.Half
	if b.Has("value") {
		return hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "half and value", Subject: new(b.At("value"))}}
	}
	return nil
}

// lenient is a form whose errors are tolerated.
type lenient struct{ *inner }

func (lenient) Tolerate() {}

func TestForms(t *testing.T) {
	t.Parallel()
	half := decode.Decoder{Form: func(target any) any {
		if in, ok := target.(*inner); ok {
			return &form{inner: in}
		}
		return nil
	}}
	var got outer
	said := decodeInto(t, "item \"a\" {\n half = 4\n}\nitem \"b\" {}\nitem \"c\" {\n half = 1\n value = 1\n}", &got, half)
	if diff := cmp.Diff([]string{`4: "half" is missing in item`, "7: half and value"}, said); diff != "" {
		t.Error(diff)
	}
	if got.Pointers[0].Value != 8 {
		t.Errorf("got %+v", got.Pointers[0])
	}

	tolerant := decode.Decoder{Form: func(target any) any {
		if in, ok := target.(*inner); ok {
			return &lenient{in}
		}
		return nil
	}}
	said = decodeInto(t, "item \"a\" {\n value = \"x\"\n nope = 1\n}\nnope = 1", &got, tolerant)
	want := []string{`2: warning: "value" must be a whole number`, `3: warning: unknown attribute "nope" in item`, `5: unknown attribute "nope" in outer`}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Error(diff)
	}
}

func TestBodiesAndExpressionsAreKept(t *testing.T) {
	t.Parallel()
	type raw struct {
		Expr hcl.Expression `hcl:"expr"`
		Rest []*struct {
			Body hcl.Body `hcl:",body"`
		} `hcl:"rest,block"`
	}
	var got raw
	if said := decodeInto(t, "expr = undefined.name\nrest {\n what = ever\n}", &got, decode.Decoder{}); len(said) > 0 {
		t.Fatal(said)
	}
	if n := len(got.Expr.Variables()); n != 1 || len(got.Rest) != 1 || got.Rest[0].Body == nil {
		t.Errorf("got %+v", got)
	}
	if said := decodeInto(t, "", &raw{}, decode.Decoder{}); len(said) != 1 || !strings.Contains(said[0], `"expr" is missing`) {
		t.Errorf("got %v", said)
	}
}
