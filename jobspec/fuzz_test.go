package jobspec_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskrun/jobspec"
)

// Parse returns a job or an error for any file, every diagnostic can be shown,
// and a job can be printed and parsed again.
func FuzzParse(f *testing.F) {
	seeds, err := filepath.Glob("testdata/ok/*.golden") // the API's JSON
	if err != nil {
		f.Fatal(err)
	}
	for _, dir := range []string{"testdata/ok", "testdata/bad"} {
		seeds = append(seeds, jobFiles(f, dir)...)
	}
	for _, path := range seeds {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	dir := f.TempDir() // file functions find nothing
	f.Fuzz(func(t *testing.T, text []byte) {
		if readsFiles(text) {
			return
		}
		src := jobspec.Source{Name: "f.nomad.hcl", Text: text}
		file, diagnostics := jobspec.Parse(src, jobspec.Options{BaseDir: dir, Vars: []string{"v=1"}, Environ: []string{"NOMAD_VAR_e=[1]"}})
		if (file.Job == nil) != diagnostics.HasErrors() {
			t.Fatalf("job: %v, diagnostics: %v", file.Job, diagnostics)
		}
		for _, diagnostic := range diagnostics {
			checkRange(t, file, diagnostic.Range)
			if diagnostic.Summary == "" {
				t.Errorf("a diagnostic without a summary: %+v", diagnostic)
			}
		}
		for _, at := range file.Positions {
			checkRange(t, file, at)
		}
		if file.Job == nil {
			return
		}
		var out bytes.Buffer
		if err := jobspec.WriteJSON(&out, file.Job); err != nil {
			t.Fatal(err)
		}
		again, diagnostics := jobspec.Parse(jobspec.Source{Name: "f.json", Text: out.Bytes()}, jobspec.Options{})
		if diagnostics.HasErrors() {
			t.Fatalf("%v in\n%s", diagnostics, &out)
		}
		var second bytes.Buffer
		if err := jobspec.WriteJSON(&second, again.Job); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), second.Bytes()) {
			t.Errorf("first\n%s\nthen\n%s", &out, &second)
		}
		file.Job.Canonicalize()
	})
}

// readsFiles reports whether a file could read files of the machine.
func readsFiles(text []byte) bool {
	for _, name := range []string{"file", "abspath", "pathexpand"} {
		if bytes.Contains(text, []byte(name)) {
			return true
		}
	}
	return false
}

func checkRange(t *testing.T, file *jobspec.File, r jobspec.Range) {
	t.Helper()
	source, ok := file.Sources[r.File]
	if !ok && !strings.HasPrefix(r.File, "-") && !r.IsZero() {
		t.Errorf("no source for %v", r)
		return
	}
	if r.Start.Byte < 0 || r.End.Byte < r.Start.Byte || r.Start.Byte > len(source) {
		t.Errorf("%+v is not in its source of %d bytes", r, len(source))
	}
}
