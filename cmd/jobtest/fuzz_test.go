package jobtest_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"taskrun/cmd/jobtest"
)

// Whatever a test file contains, Read returns runs or an error, each diagnostic can
// be shown, and the runs can be checked against a job.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"read", "check"} {
		archive, err := txtar.ParseFile(filepath.Join("testdata", name+".txtar"))
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if filepath.Ext(file.Name) == ".hcl" {
				f.Add(file.Data)
			}
		}
	}
	for _, name := range []string{"web", "form"} {
		text, err := os.ReadFile(filepath.Join("testdata", "ok", name+jobtest.Suffix))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	job := jobOf(f, filepath.Join("testdata", "ok", "web.nomad.hcl"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		if readsFiles(text) {
			return
		}
		path := filepath.Join(dir, "web"+jobtest.Suffix)
		if err := os.WriteFile(filepath.Join(dir, "web.nomad.hcl"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		file, diagnostics := jobtest.Read(path)
		names := map[string]bool{}
		for _, run := range file.Runs {
			if names[run.Name] {
				t.Errorf("two runs are called %q", run.Name)
			}
			names[run.Name] = true
		}
		if !diagnostics.HasErrors() {
			if len(file.Runs) == 0 || file.Job == "" {
				t.Fatalf("it has no runs or no job, and nothing is said: %+v", file)
			}
			diagnostics = append(diagnostics, file.Check(job)...)
		}
		for _, d := range diagnostics {
			r := d.Range
			if d.Summary == "" || r.Start.Byte < 0 || r.End.Byte < r.Start.Byte || r.Start.Byte > len(text) {
				t.Errorf("%+v", d)
			}
		}
	})
}

// readsFiles reports whether a file could look at the machine the test runs on.
func readsFiles(text []byte) bool {
	for _, name := range []string{"file", "abspath", "pathexpand"} {
		if bytes.Contains(text, []byte(name)) {
			return true
		}
	}
	return false
}
