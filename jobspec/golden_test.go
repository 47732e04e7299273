package jobspec_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/jobspec"
)

// deviations are the files with our own golden, because Nomad's value is a
// defect; the README lists them under "Differences from Nomad".
var deviations = map[string]string{
	"019-secret-task-and-group":         "secrets of task, group and job add up",
	"024-constraint-ignored-shorthands": "is_set, is_not_set and set_contains_* have their meaning",
	"053-deferred-extra-braces":         "text after a reference is not doubled",
	"073-dynamic-in-config":             "dynamic works in free-form blocks",
	"082-json-deferred-after-escape":    "escapes in JSON strings do not shift references",
}

func TestParseGivesWhatNomadPrints(t *testing.T) {
	t.Parallel()
	for _, path := range jobFiles(t, "testdata/ok") {
		name := caseName(path)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, diagnostics := parseCase(t, path)
			for _, diagnostic := range diagnostics {
				if diagnostic.Severity == jobspec.Error {
					t.Errorf("unexpected: %v", diagnostic)
				}
			}
			if file.Job == nil {
				t.Fatal("no job")
			}
			var out bytes.Buffer
			if err := jobspec.WriteJSON(&out, file.Job); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata/ok", name+".json.golden")
			if deviations[name] != "" {
				golden = filepath.Join("testdata/deviation", name+".json.golden")
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), out.String()); diff != "" {
				t.Errorf("differs from %s (-want +got):\n%s", golden, diff)
			}
		})
	}
}

// jobFiles returns the job files of a folder.
func jobFiles(t testing.TB, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasSuffix(name, ".nomad.hcl") || strings.HasSuffix(name, ".json") && !strings.HasSuffix(name, ".vars.json") {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	if len(paths) == 0 {
		t.Fatalf("no job files in %s", dir)
	}
	return paths
}

func caseName(path string) string {
	return strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".nomad.hcl"), ".json")
}

// parseCase parses a job file with the arguments and the environment in the
// files beside it.
func parseCase(t testing.TB, path string) (*jobspec.File, jobspec.Diagnostics) {
	t.Helper()
	dir, name := filepath.Dir(path), caseName(path)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	opts := jobspec.Options{BaseDir: dir, Environ: lines(t, filepath.Join(dir, name+".env"))}
	if varFile := filepath.Join(dir, name+".vars.hcl"); exists(varFile) {
		opts.VarFiles = append(opts.VarFiles, varFile)
	}
	consul, vault := "", ""
	for _, argument := range lines(t, filepath.Join(dir, name+".args")) {
		flag, value, _ := strings.Cut(argument, "=")
		switch flag {
		case "-var":
			opts.Vars = append(opts.Vars, value)
		case "-var-file":
			opts.VarFiles = append(opts.VarFiles, filepath.Join(dir, value))
		case "-hcl2-strict":
			opts.IgnoreUndeclared = value == "false"
		case "-consul-namespace":
			consul = value
		case "-vault-namespace":
			vault = value
		case "-json": // detected automatically
		default:
			t.Fatalf("unknown argument %q", argument)
		}
	}
	file, diagnostics := jobspec.Parse(jobspec.Source{Name: filepath.Base(path), Text: text}, opts)
	if file.Job != nil && consul != "" {
		file.Job.ConsulNamespace = &consul
	}
	if file.Job != nil && vault != "" {
		file.Job.VaultNamespace = &vault
	}
	return file, diagnostics
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// lines returns the lines of a file; none if there is no such file.
func lines(t testing.TB, path string) []string {
	t.Helper()
	if !exists(path) {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimRight(string(text), "\n"), "\n")
}

// The jobs that a real Nomad ran, and those that break a rule of validation,
// have no errors for the parser.
func TestValidFilesParse(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"../testdata/runs", "validate/testdata/invalid"} {
		for _, path := range jobFiles(t, dir) {
			if filepath.Ext(path) == ".json" {
				continue // recorded actions
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			file, diagnostics := jobspec.Parse(jobspec.Source{Name: path, Text: text}, jobspec.Options{})
			if diagnostics.HasErrors() || file.Job == nil {
				t.Errorf("%s: %v", path, diagnostics)
				continue
			}
			file.Job.Canonicalize()
		}
	}
}
