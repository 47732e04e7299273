package scaffold_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"taskrun/cmd/jobtest/scaffold"
	"taskrun/jobspec"
)

var update = flag.Bool("update", false, "write the golden files")

// Each testdata/*.nomad.hcl is a job; the golden beside it is its first test file.
func TestText(t *testing.T) {
	t.Parallel()
	jobs, err := filepath.Glob("testdata/*.nomad.hcl")
	if err != nil || len(jobs) < 4 {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	for _, path := range jobs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, diagnostics := jobspec.Parse(jobspec.Source{Name: path, Text: text}, jobspec.Options{})
		if diagnostics.HasErrors() {
			t.Fatal(diagnostics)
		}
		file.Job.Canonicalize()
		got := scaffold.Job{Job: file.Job, File: filepath.Base(path), Began: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}.Text()
		golden := strings.TrimSuffix(path, ".nomad.hcl") + ".golden"
		if *update {
			if err := os.WriteFile(golden, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}
