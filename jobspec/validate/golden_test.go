package validate_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/jobspec"
	"taskrun/jobspec/validate"
)

var update = flag.Bool("update", false, "write the golden files")

// Each file breaks a rule of Nomad's validation; beside it lies what is said of
// it, with positions.
func TestWhatNomadRefusesIsRefused(t *testing.T) {
	t.Parallel()
	for _, path := range glob(t, "testdata/invalid/*.nomad.hcl") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			problems := check(t, path)
			if !problems.HasErrors() {
				t.Error("no error")
			}
			for _, p := range problems {
				if p.Range.IsZero() {
					t.Errorf("no place: %v (%s)", p, p.Path)
				}
			}
			got := render(problems)
			golden := strings.TrimSuffix(path, ".nomad.hcl") + ".problems"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// The goldens of the parser are jobs as Nomad reads them; valid.txt beside them
// names the files that pass its validation.
func TestWhatNomadAcceptsHasNoError(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../testdata/ok/valid.txt")
	if err != nil {
		t.Fatal(err)
	}
	var valid []string
	for file := range strings.FieldsSeq(string(text)) {
		valid = append(valid, strings.TrimSuffix(strings.TrimSuffix(file, ".json"), ".nomad.hcl"))
	}
	for _, path := range glob(t, "../testdata/ok/*.json.golden") {
		name := strings.TrimSuffix(filepath.Base(path), ".json.golden")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problems := check(t, path)
			if accepted := slices.Contains(valid, name); accepted == problems.HasErrors() {
				t.Errorf("accepted by Nomad: %t\n%s", accepted, render(problems))
			}
		})
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no file matches %s: %v", pattern, err)
	}
	return paths
}

// check returns what validation finds in a job file; of what the parser says
// only errors count.
func check(t *testing.T, path string) jobspec.Problems {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, problems := jobspec.Parse(jobspec.Source{Name: filepath.Base(path), Text: text}, jobspec.Options{})
	if problems.HasErrors() {
		t.Fatalf("cannot parse: %v", problems)
	}
	file.Job.Canonicalize()
	found := validate.Job(file.Job)
	file.Place(found)
	found.Sort()
	return found
}

// render writes a line for each problem and a second one for its remedy.
func render(problems jobspec.Problems) string {
	var b strings.Builder
	for _, p := range problems {
		fmt.Fprintf(&b, "%s: %v\n", p.Severity, p)
		if p.Remedy != "" {
			fmt.Fprintf(&b, "\t%s\n", p.Remedy)
		}
	}
	return b.String()
}
