package decode_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"

	"taskrun/jobspec/decode"
	"taskrun/jobspec/evaluate"
	"taskrun/jobspec/function"
	"taskrun/jobspec/syntax"
)

// places records the calls of a decoder to a Place.
type places struct {
	path string
	all  map[string]string // range by path
}

func (p places) note(path string, at hcl.Range) places {
	p.path += "/" + path
	p.all[p.path] = fmt.Sprintf("%d:%d-%d", at.Start.Line, at.Start.Column, at.End.Column)
	return p
}

func (places) Lost(string) {}

func (p places) Attr(name string, at hcl.Range) { p.note(name, at) }

func (p places) Block(name string, at hcl.Range) decode.Place { return p.note(name, at) }

func (p places) Item(name string, i int, label string, at hcl.Range) decode.Place {
	return p.note(fmt.Sprintf("%s[%d]%s", name, i, label), at)
}

func (p places) Keyed(name, label string, at hcl.Range) decode.Place {
	return p.note(name+"."+label, at)
}

// Every part of a file is found by its path, in either syntax.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]map[string]string{
		"text = \"a\"\nmap = { k = 1 }": {"/text": "1:8-11", "/map": "2:7-16", "/map/k": "2:13-14"},
		"plain {\n  a = 1\n}":           {"/plain": "1:1-6", "/plain/a": "2:7-8"},
		"single {\n}\nsingle {\n}":      {"/single": "1:1-7"},
		"item \"a\" {\n value = 1\n}\nitem {}\nitem \"c\" {\n}": {
			"/item[0]a": "1:1-9", "/item[0]a/value": "2:10-11", "/item[1]c": "5:1-9",
		},
		"keyed \"a\" {\n value = 1\n}": {"/keyed.a": "1:1-10", "/keyed.a/value": "2:10-11"},
		"free {\n a = [{ b = 1 }, 2]\n c \"d\" \"e\" {\n  f = { g = 1 }\n }\n}": {
			"/free": "1:1-5", "/free/a": "2:6-20", "/free/a[0]": "2:7-16", "/free/a[0]/b": "2:13-14", "/free/a[1]": "2:18-19",
			"/free/c[0]": "3:2-11", "/free/c[0]/d[0]": "3:4-7", "/free/c[0]/d[0]/e[0]": "3:8-11",
			"/free/c[0]/d[0]/e[0]/f": "4:7-16", "/free/c[0]/d[0]/e[0]/f/g": "4:13-14",
		},
		`{"item": {"a": {"value": 2}}}`: {"/item[0]a": "1:11-14", "/item[0]a/value": "1:26-27"},
	} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			p := places{all: map[string]string{}}
			said(t, source, &outer{}, p)
			if diff := cmp.Diff(want, p.all); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// An invalid duration is explained, and a number that is suspiciously small has
// a warning.
func TestDurations(t *testing.T) {
	t.Parallel()
	const (
		none    = `1:8-%d "wait" must be a duration | it is %s; %s | %s`
		another = `write a number and a unit, such as "30s" or "1h30m"`
	)
	for source, want := range map[string][]string{
		`"1h30m"`: nil, `0`: nil, `1000000`: nil, `-1000000`: nil, `"0"`: nil,
		`999999`:   {`1:8-14 "wait" is 999999 nanoseconds | a duration without a unit counts nanoseconds | write "999999s" for seconds`},
		`-5`:       {`1:8-10 "wait" is -5 nanoseconds | a duration without a unit counts nanoseconds | write "-5s" for seconds`},
		`"5"`:      {fmt.Sprintf(none, 11, `the string "5"`, "it has no unit", `write "5s" for seconds; the units are ns, us, ms, s, m and h`)},
		`"1.5d"`:   {fmt.Sprintf(none, 14, `the string "1.5d"`, "the longest unit is h", `write "36h"`)},
		`"2 days"`: {fmt.Sprintf(none, 16, `the string "2 days"`, "the longest unit is h", `write "48h"`)},
		`"1w"`:     {fmt.Sprintf(none, 12, `the string "1w"`, "the longest unit is h", `write "168h"`)},
		`"1x"`:     {fmt.Sprintf(none, 12, `the string "1x"`, "it does not read as one", another)},
		`"days"`:   {fmt.Sprintf(none, 14, `the string "days"`, "it does not read as one", another)},
		`1.5`:      {`1:8-11 "wait" must be a duration | it is the number 1.5; it has a fraction | `},
		`[]`:       {`1:8-10 "wait" must be a duration | it is a list | `},
		`null`:     {`1:8-12 "wait" must be a duration | it is null | write one, such as "30s", or leave the attribute out`},
	} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			var got outer
			if diff := cmp.Diff(want, said(t, "wait = "+source, &got, places{all: map[string]string{}})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if want == nil && source == `1000000` && got.Wait != time.Millisecond {
				t.Errorf("got %v", got.Wait)
			}
		})
	}
}

// The number of diagnostics is limited, but warnings never displace an error.
func TestManyWarnings(t *testing.T) {
	t.Parallel()
	var text []byte
	for i := range 10_010 {
		text = fmt.Appendf(text, "item \"%d\" {\n wait = 5\n}\n", i)
	}
	text = append(text, "item \"last\" {\n wait = []\n}\n"...)
	type item struct {
		Name string        `hcl:",label"`
		Wait time.Duration `hcl:"wait,optional"`
	}
	var target struct {
		Items []*item `hcl:"item,block"`
	}
	if n := len(said(t, string(text), &target, places{all: map[string]string{}})); n != 10_001 {
		t.Errorf("%d diagnostics, want 10000 warnings and an error", n)
	}
}

// losses records what a decoder cannot store.
type losses struct {
	path string
	all  *[]string
}

func (l losses) Lost(name string) { *l.all = append(*l.all, l.path+"/"+name) }

func (losses) Attr(string, hcl.Range) {}

func (l losses) Block(name string, _ hcl.Range) decode.Place {
	return losses{l.path + "/" + name, l.all}
}

func (l losses) Item(name string, i int, _ string, _ hcl.Range) decode.Place {
	return losses{fmt.Sprintf("%s/%s[%d]", l.path, name, i), l.all}
}

func (l losses) Keyed(name, label string, _ hcl.Range) decode.Place {
	return losses{l.path + "/" + name + "." + label, l.all}
}

// The paths of values and blocks that are not stored are known: rules about the
// others must not be misled.
func TestLosses(t *testing.T) {
	t.Parallel()
	type required struct {
		Name  string `hcl:",label"`
		Value int    `hcl:"value"`
	}
	type target struct {
		outer
		Needs []*required `hcl:"needs,block"`
	}
	for source, tt := range map[string]struct {
		lost       []string
		incomplete bool
	}{
		`text = "a"`:                       {nil, false},
		`text = []`:                        {[]string{"/text"}, false},
		`nope = 1`:                         {nil, false},
		`single = {}`:                      {nil, true},
		`nope {}`:                          {[]string{"/"}, false},
		`tex = []`:                         {[]string{"/text"}, false},
		"plain {\n a = []\n b = 1\n}":      {[]string{"/plain/a"}, false},
		"item \"a\" {\n value = \"x\"\n}":  {[]string{"/item[0]/value"}, false},
		"keyed \"a\" {\n value = \"x\"\n}": {[]string{"/keyed.a/value"}, false},
		"needs \"a\" {}":                   {[]string{"/needs[0]/value"}, false},
		"item {}":                          {nil, true},
		"item \"a\" \"b\" {}":              {nil, true},
		"item \"a\" {}\nitem \"b\" {}":     {nil, false},
		"dynamic \"item\" {\n for_each = 1\n labels = [\"a\"]\n content {}\n}":   {nil, true},
		"dynamic \"item\" {\n for_each = [1]\n labels = [\"a\"]\n content {}\n}": {nil, false},
		`{"text": "a"}`: {nil, false},
		`{"nope": 1}`:   {nil, true},
		`{"text": []}`:  {[]string{"/text"}, false},
	} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			body, diags := syntax.Parse([]byte(source), "t")
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			d := decode.Decoder{Scope: evaluate.NewScope(function.Table(""), map[string][]byte{"t": []byte(source)})}
			var lost []string
			d.Decode("outer", hcl.Range{}, body, &target{}, losses{all: &lost})
			if diff := cmp.Diff(tt.lost, lost); diff != "" || d.Incomplete != tt.incomplete {
				t.Errorf("incomplete: %t; lost (-want +got):\n%s", d.Incomplete, diff)
			}
		})
	}
}
