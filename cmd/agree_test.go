package cmd

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"

	"taskrun/cmd/console"
	"taskrun/cmd/jobfile"
	"taskrun/cmd/preflight"
	"taskrun/cmd/ui"
	"taskrun/drivers/catalog"
	"taskrun/jobspec"
)

// onlyHere matches diagnostics that depend on this machine and that validate
// therefore omits.
var onlyHere = regexp.MustCompile(`^driver "\w+" cannot be used on this machine` +
	`|^taskrun does not have Nomad's driver|^there is no driver|^this machine fails the constraint`)

// TestValidateMatchesUp reads every job file in the tests of the project, with
// and without --strict. If up refuses a file before starting it, validate must
// refuse it with the same words.
func TestValidateMatchesUp(t *testing.T) {
	t.Parallel()
	refused := 0
	for _, name := range recordedJobs(t) {
		for _, strict := range []bool{false, true} {
			found := map[preflight.Entry]map[string]bool{}
			validate := preflight.Validate
			if strict {
				validate = preflight.Strict
			}
			for _, entry := range []preflight.Entry{preflight.Up, validate} {
				found[entry] = refusals(t, entry, name, strict)
			}
			for p := range found[preflight.Up] {
				if refused++; !found[validate][p] && !onlyHere.MatchString(p) {
					t.Errorf("%s (strict: %v): only up says %q", name, strict, p)
				}
			}
		}
	}
	if refused < 50 {
		t.Errorf("up refused %d times: the test sees too little", refused)
	}
}

// refusals returns the errors that an entry point finds in a file.
func refusals(t *testing.T, entry preflight.Entry, name string, strict bool) map[string]bool {
	t.Helper()
	none := t.TempDir() // directory of other runs
	a := newApp(&console.Console{Streams: &ui.Streams{In: new(bytes.Buffer), Env: func(name string) string {
		if name == "XDG_RUNTIME_DIR" {
			return none
		}
		return ""
	}}}, sync.OnceValue(catalog.New))
	opts := jobOptions{strict: strict, Options: jobfile.Options{Stubbed: true}, maxAllocs: 10_000}
	_, diagnostics, err := a.readChecked(context.Background(), entry, []string{name}, opts, machineOptions{dataDir: "/data"})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	found := map[string]bool{}
	for _, p := range diagnostics {
		if p.Severity == jobspec.Error {
			found[p.Summary] = true
		}
	}
	return found
}

// recordedJobs returns the names of all job files in testdata; those of the
// journeys are written to folders of their own.
func recordedJobs(t *testing.T) (names []string) {
	t.Helper()
	dir := t.TempDir()
	collect := func(root string) {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".nomad.hcl") || strings.HasSuffix(path, "job.hcl") {
				names = append(names, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	scripts, err := filepath.Glob("../testdata/script/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	for _, script := range scripts {
		archive, err := txtar.ParseFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			path := filepath.Join(dir, filepath.Base(script), filepath.Clean("/"+f.Name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	collect(dir)
	collect("../testdata")
	return names
}
