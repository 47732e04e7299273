package validate_test

import (
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

// Each file breaks a rule of Nomad's validation; the file beside it has the
// diagnostics, with positions.
func TestRefusedJobsHaveErrors(t *testing.T) {
	t.Parallel()
	for _, path := range glob(t, "testdata/invalid/*.nomad.hcl") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			diagnostics := check(t, path)
			if !diagnostics.HasErrors() {
				t.Error("no error")
			}
			for _, p := range diagnostics {
				if p.Range.IsZero() {
					t.Errorf("no place: %v (%s)", p, p.Path)
				}
			}
			got := render(diagnostics)
			golden := strings.TrimSuffix(path, ".nomad.hcl") + ".diagnostics"
			if *validate.Update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
		})
	}
}

// The goldens of the parser are jobs as parsed by Nomad; valid.txt lists the
// files that pass its validation.
func TestAcceptedJobsHaveNoErrors(t *testing.T) {
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
			diagnostics := check(t, path)
			if accepted := slices.Contains(valid, name); accepted == diagnostics.HasErrors() {
				t.Errorf("accepted by Nomad: %t\n%s", accepted, render(diagnostics))
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

// check returns the diagnostics of validation for a job file, and only errors
// of the parser.
func check(t *testing.T, path string) jobspec.Diagnostics {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, diagnostics := jobspec.Parse(jobspec.Source{Name: filepath.Base(path), Text: text}, jobspec.Options{})
	if diagnostics.HasErrors() {
		t.Fatalf("cannot parse: %v", diagnostics)
	}
	file.Job.Canonicalize()
	found := validate.Job(file.Job, file.Positions)
	file.Place(found)
	found.Sort()
	return found
}

// render writes a line for each diagnostic and a second one for its remedy.
func render(diagnostics jobspec.Diagnostics) string {
	var b strings.Builder
	for _, p := range diagnostics {
		fmt.Fprintf(&b, "%s: %v\n", p.Severity, p)
		if p.Remedy != "" {
			fmt.Fprintf(&b, "\t%s\n", p.Remedy)
		}
	}
	return b.String()
}

// An explicit shutdown_delay of 0 has no hint.
func TestWrittenShutdownDelayIsAnAnswer(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]int{"": 1, `shutdown_delay = "0s"`: 0, `shutdown_delay = "5s"`: 0} {
		text := `job "j" {
			group "g" {
				task "t" {
					driver = "raw_exec"
					` + written + `
					service {
						name     = "s"
						provider = "nomad"
					}
				}
			}
		}`
		file, diagnostics := jobspec.Parse(jobspec.Source{Name: "j.nomad.hcl", Text: []byte(text)}, jobspec.Options{})
		if diagnostics.HasErrors() {
			t.Fatal(diagnostics)
		}
		file.Job.Canonicalize()
		if got := validate.Job(file.Job, file.Positions); len(got) != want || want > 0 && got[0].Severity != jobspec.Hint {
			t.Errorf("%q: %v, want %d hints", written, got, want)
		}
	}
}
