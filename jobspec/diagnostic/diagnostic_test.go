package diagnostic_test

import (
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
