package diagnostic_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/diagnostic"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"driver", "count", "task", "template", "to", "kill_timeout", "vault"}
	for name, want := range map[string]string{
		"drivr":                   "driver", // left out
		"driverr":                 "driver", // added
		"drover":                  "driver", // changed
		"taks":                    "task",   // swapped
		"kil_timeuot":             "kill_timeout",
		"cuont":                   "count",
		"at":                      "", // too short to tell
		"foo":                     "",
		"job":                     "",
		"provider":                "",
		"templatefile":            "",
		strings.Repeat("a", 1000): "",
		"":                        "",
	} {
		if got := diagnostic.Nearest(name, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]cty.Value{
		"null":             cty.NullVal(cty.String),
		`the string "a\n"`: cty.StringVal("a\n"),
		`the string "` + strings.Repeat("é", 40) + `…"`: cty.StringVal(strings.Repeat("é", 50)),
		"the number 2.5": cty.NumberFloatVal(2.5),
		"true":           cty.True,
		"a list":         cty.EmptyTupleVal,
		"a map":          cty.EmptyObjectVal,
		"a set":          cty.SetValEmpty(cty.String),
	} {
		if got := diagnostic.Describe(v); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestRemedyTravelsWithTheDiagnostic(t *testing.T) {
	t.Parallel()
	diag := diagnostic.Error(hcl.Range{}, "s", "d", "do this")
	if got := diagnostic.Remedy(diag); got != "do this" {
		t.Errorf("got %q", got)
	}
	diagnostic.SetRemedy(diag, "")
	if got := diagnostic.Remedy(diag); got != "do this" {
		t.Errorf("nothing took its place: %q", got)
	}
	if got := diagnostic.Remedy(&hcl.Diagnostic{Extra: 1}); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestWarning(t *testing.T) {
	t.Parallel()
	at := hcl.Range{Filename: "f", Start: hcl.Pos{Line: 3}}
	for severity, diag := range map[hcl.DiagnosticSeverity]*hcl.Diagnostic{
		hcl.DiagError: diagnostic.Error(at, "s", "d", "r"), hcl.DiagWarning: diagnostic.Warning(at, "s", "d", "r"),
	} {
		if diag.Severity != severity || diag.Summary != "s" || diag.Detail != "d" || *diag.Subject != at || diagnostic.Remedy(diag) != "r" {
			t.Errorf("severity %v: %+v", severity, diag)
		}
	}
}

// The nearest of several names is meant, the first one if they are equally near,
// and never the name itself.
func TestDidYouMean(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"count": `did you mean "counts"?`, "cunt": `did you mean "count"?`, "Count": `did you mean "count"?`, "nothing": "", "abcdef": `did you mean "abcdeg"?`,
	} {
		if got := diagnostic.DidYouMean(name, []string{"counts", "count", "abcdeh", "abcdeg"}); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := diagnostic.Describe(cty.CapsuleVal(cty.Capsule("box", reflect.TypeFor[int]()), new(int))); got != "a box" {
		t.Errorf("a capsule is %q", got)
	}
}
