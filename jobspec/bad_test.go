package jobspec_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"taskrun/jobspec"
)

// accepted lists errors of Nomad that do not exist here, because the format of a
// file is detected without a flag.
var accepted = map[string]string{
	"082-api-json-without-flag": "the API's JSON needs no flag",
	"083-json-after-newline":    "JSON may begin with white space",
}

// elsewhere are errors for which Nomad names another line than the wrong one,
// or none.
var elsewhere = map[string][]place{
	"006-no-job":                      {{"006-no-job.nomad.hcl", 3}},         // the end
	"015-env-null-value":              {{"015-env-null-value.nomad.hcl", 6}}, // the key, not the map
	"031-unset-variable":              {{"031-unset-variable.nomad.hcl", 1}},
	"032-undeclared-var-flag":         {{"--var other", 1}},
	"033-undeclared-name-in-var-file": {{"033-undeclared-name-in-var-file.vars.hcl", 1}},
	"035-var-flag-wrong-type":         {{"--var b", 1}},
	"036-env-wrong-type":              {{"NOMAD_VAR_n", 1}},
	"044-tuple-length":                {{"--var x", 1}},
	"073-ambiguous-object-key":        {{"073-ambiguous-object-key.nomad.hcl", 3}},
	"074-heredoc-not-closed":          {{"074-heredoc-not-closed.nomad.hcl", 6}}, // its start
	"077-config-error-behind-body-error": {
		{"077-config-error-behind-body-error.nomad.hcl", 2},
		{"077-config-error-behind-body-error.nomad.hcl", 7},
		{"077-config-error-behind-body-error.nomad.hcl", 8},
	},
	"084-empty-file": {{"084-empty-file.nomad.hcl", 1}},
}

// A place is a line of a file.
type place struct {
	file string
	line int
}

func TestParseFindsWhatNomadRefuses(t *testing.T) {
	t.Parallel()
	for _, path := range jobFiles(t, "testdata/bad") {
		name := caseName(path)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, diagnostics := parseCase(t, path)
			if accepted[name] != "" {
				if diagnostics.HasErrors() {
					t.Fatalf("refused: %v", diagnostics)
				}
				return
			}
			if file.Job != nil {
				t.Error("there is a job")
			}
			want := elsewhere[name]
			if want == nil {
				want = nomadsPlaces(t, strings.TrimSuffix(path, filepath.Ext(path)))
			}
			found := map[place]bool{}
			for _, diagnostic := range diagnostics {
				found[place{filepath.Base(diagnostic.Range.File), diagnostic.Range.Start.Line}] = true
				if _, ok := file.Sources[diagnostic.Range.File]; !ok {
					t.Errorf("no source for %v", diagnostic)
				}
			}
			for _, p := range want {
				if !found[p] {
					t.Errorf("nothing found at %s:%d, but: %v", p.file, p.line, diagnostics)
				}
			}
			if len(found) > len(want) {
				t.Errorf("more than %v is found: %v", want, diagnostics)
			}
		})
	}
}

// nomadsPlaces returns the lines in Nomad's message.
func nomadsPlaces(t *testing.T, base string) []place {
	t.Helper()
	text, err := os.ReadFile(strings.TrimSuffix(base, ".nomad") + ".error")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[place]bool{}
	var places []place
	for _, found := range regexp.MustCompile(`(?m)^(\S+\.(?:hcl|json)):(\d+),`).FindAllStringSubmatch(string(text), -1) {
		line, _ := strconv.Atoi(found[2])
		if p := (place{found[1], line}); !seen[p] {
			seen[p] = true
			places = append(places, p)
		}
	}
	if len(places) == 0 {
		t.Fatal("Nomad names no place")
	}
	return places
}

func TestNoDuplicateMessages(t *testing.T) {
	t.Parallel()
	for _, path := range jobFiles(t, "testdata/bad") {
		_, diagnostics := parseCase(t, path)
		seen := map[jobspec.Range]bool{}
		for _, diagnostic := range diagnostics {
			if seen[diagnostic.Range] {
				t.Errorf("%s: a second diagnostic at %v: %v", path, diagnostic.Range, diagnostics)
			}
			seen[diagnostic.Range] = true
		}
	}
}
