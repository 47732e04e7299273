package jobfile_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/jobfile"
	"taskrun/jobspec"
	"taskrun/jobspec/stub"
)

const job = "variable \"region\" {\n  default = \"none\"\n}\njob \"NAME\" {\n  region = var.region\n  group \"g\" {\n    task \"t\" {\n      driver = \"mock_driver\"\n    }\n  }\n}\n"

// write writes files into a new directory, and returns their names in it.
func write(t *testing.T, files map[string]string) func(name string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func(name string) string { return filepath.Join(dir, name) }
}

func named(name string) string { return strings.ReplaceAll(job, "NAME", name) }

// Errors in the call are no diagnostics of a file.
func TestWrongCalls(t *testing.T) {
	t.Parallel()
	in := write(t, map[string]string{
		"a/a.nomad.hcl": named("a"), "a/taskrun.hcl": "", "b/b.nomad.hcl": named("b"), "c/c.nomad.hcl": named("c"), "c/taskrun.hcl": "",
	})
	const different = "the job files have different stubs files beside them"
	for name, tt := range map[string]struct {
		files []string
		opts  jobfile.Options
		want  string
	}{
		"stdin twice":             {[]string{"-", in("a/a.nomad.hcl"), "-"}, jobfile.Options{}, "stdin can be read once, but - is given twice"},
		"two stubs files":         {[]string{in("a/a.nomad.hcl"), in("c/c.nomad.hcl")}, jobfile.Options{Stubbed: true}, different},
		"one has a stubs file":    {[]string{in("a/a.nomad.hcl"), in("b/b.nomad.hcl")}, jobfile.Options{Stubbed: true}, different},
		"the other has one":       {[]string{in("b/b.nomad.hcl"), in("a/a.nomad.hcl")}, jobfile.Options{Stubbed: true}, different},
		"stubs that are not read": {[]string{in("a/a.nomad.hcl"), in("c/c.nomad.hcl")}, jobfile.Options{}, ""},
		"stubs that are named":    {[]string{in("a/a.nomad.hcl"), in("c/c.nomad.hcl")}, jobfile.Options{Stubbed: true, Stubs: in("a/taskrun.hcl")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, diags, err := jobfile.Read(t.Context(), tt.files, strings.NewReader(named("stdin")), nil, tt.opts)
			if tt.want == "" {
				if err != nil || len(diags) > 0 || len(jobfile.Jobs(files)) != len(tt.files) {
					t.Errorf("%d jobs, %v, %v", len(jobfile.Jobs(files)), diags, err)
				}
				return
			}
			var wrong *jobfile.CallError
			if !errors.As(err, &wrong) || wrong.Error() != tt.want || files != nil {
				t.Errorf("%d files, error %v, want %q", len(files), err, tt.want)
			}
		})
	}
}

// A file that cannot be read or has errors does not keep others from being read.
func TestSomeFilesAreWrong(t *testing.T) {
	t.Parallel()
	in := write(t, map[string]string{"a": named("a"), "broken": "job {", "b": named("b")})
	files, diags, err := jobfile.Read(t.Context(), []string{in("a"), in("none"), in("broken"), in("b")}, nil, nil, jobfile.Options{})
	if err != nil || !diags.HasErrors() || len(files) != 3 {
		t.Fatalf("%d files, %v, %v", len(files), diags, err)
	}
	var ids []string
	for _, j := range jobfile.Jobs(files) {
		ids = append(ids, *j.ID)
	}
	if diff := cmp.Diff([]string{"a", "b"}, ids); diff != "" {
		t.Errorf("jobs (-want +got):\n%s", diff)
	}
	if !strings.Contains(diags[0].Error(), "none") {
		t.Errorf("the missing file is not named: %v", diags[0])
	}
	if got := len(jobfile.Sources(files)); got != 2 {
		t.Errorf("%d submissions", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := jobfile.Read(ctx, []string{in("a")}, nil, nil, jobfile.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled call: %v", err)
	}
}

// Values of a caller win over those of the environment and of stubs, which stay
// as they were.
func TestGivenValuesWin(t *testing.T) {
	t.Parallel()
	in := write(t, map[string]string{"job": named("a"), "stubs": "variables {\n  region = \"stub\"\n}\n", "mine": "variables {\n  region = \"mine\"\n}\n"})
	environ := []string{"NOMAD_VAR_region=environment", "HOME=/", "NOMAD_VAR_other=x"}
	mine, diags := stub.Read(in("mine"))
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	for name, tt := range map[string]struct {
		stubs   string
		environ []string
		values  map[string]jobspec.VariableValue
		want    string
	}{
		"nothing":         {"", nil, nil, "none"},
		"the environment": {"", environ, nil, "environment"},
		"stubs":           {in("stubs"), nil, nil, "stub"},
		"all":             {in("stubs"), environ, mine.Values, "mine"},
	} {
		files, diags, err := jobfile.Read(t.Context(), []string{in("job")}, nil, tt.environ, jobfile.Options{Stubs: tt.stubs, Values: tt.values})
		if err != nil || diags.HasErrors() || *files[0].Job.Region != tt.want {
			t.Errorf("%s: %v, %v, want region %q", name, diags, err, tt.want)
		}
	}
	if environ[0] != "NOMAD_VAR_region=environment" || len(environ) != 3 {
		t.Errorf("the environment of the caller became %q", environ)
	}
}

// The submission of a job holds its text, and the variables of the call.
func TestSubmission(t *testing.T) {
	t.Parallel()
	in := write(t, map[string]string{
		"hcl": named("a"), "vars": "region = \"there\"\n",
		"json": `{"job": {"b": {"group": {"g": {"task": {"t": {"driver": "mock_driver"}}}}}}}`,
	})
	opts := jobfile.Options{VarFiles: []string{in("vars")}, Vars: []string{"region=a=b"}}
	files, diags, err := jobfile.Read(t.Context(), []string{in("hcl")}, nil, nil, opts)
	if err != nil || diags.HasErrors() {
		t.Fatal(diags, err)
	}
	want := map[string]*api.JobSubmission{"a": {
		Source: named("a"), Format: "hcl2", VariableFlags: map[string]string{"region": "a=b"}, Variables: "region = \"there\"\n",
	}}
	if diff := cmp.Diff(want, jobfile.Sources(files)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	files, diags, err = jobfile.Read(t.Context(), []string{in("json")}, nil, nil, jobfile.Options{})
	if err != nil || diags.HasErrors() || files[0].Source.Format != "json" {
		t.Errorf("%v, %v", diags, err)
	}
}

// With errors in the stubs file it is not known what the job files lack.
func TestStubsUnknown(t *testing.T) {
	t.Parallel()
	in := write(t, map[string]string{"job": named("a"), "good": "", "broken": "variable {"})
	for stubs, want := range map[string]bool{"good": false, "broken": true, "none": true} {
		files, diags, err := jobfile.Read(t.Context(), []string{in("job")}, nil, nil, jobfile.Options{Stubs: in(stubs)})
		if err != nil || diags.HasErrors() != want || jobfile.StubsUnknown(files) != want || jobfile.Stubs(files) == nil {
			t.Errorf("%s: unknown %v, %v, %v", stubs, jobfile.StubsUnknown(files), diags, err)
		}
	}
	if jobfile.StubsUnknown(nil) || jobfile.Stubs(nil) == nil {
		t.Error("no file has stubs that are not known, or none at all")
	}
}

// A stubs file with secrets that others may read is mentioned; a value that is still to
// be written leaves it open what the job files lack, unless they do without it.
func TestStubs(t *testing.T) {
	t.Parallel()
	in := write(t, map[string]string{
		"job": named("a"), "open": "vault_secret \"kv/data/web\" {\n  key = \"mine\"\n}\n", "closed": "vault_secret \"kv/data/web\" {\n  key = \"mine\"\n}\n",
		"needs": strings.Replace(named("b"), `  default = "none"`, "", 1), "null": "variables {\n  region = null\n}\n", "harmless": "",
	})
	for name, mode := range map[string]os.FileMode{"open": 0o644, "harmless": 0o644, "closed": 0o600} {
		if err := os.Chmod(in(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		job, stubs string
		unknown    bool
		want       string // part of the only diagnostic
	}{
		{"job", "open", false, "can be read by other users (mode 0644)"},
		{"job", "closed", false, ""},
		{"job", "harmless", false, ""},
		{"needs", "harmless", false, `variable "region" has no value`},
		{"needs", "null", true, "region"},
	} {
		files, diags, err := jobfile.Read(t.Context(), []string{in(tt.job)}, nil, nil, jobfile.Options{Stubs: in(tt.stubs)})
		if err != nil {
			t.Fatal(err)
		}
		said := ""
		for _, d := range diags {
			said += d.Error()
		}
		if got := jobfile.StubsUnknown(files); got != tt.unknown || (said == "") != (tt.want == "") || !strings.Contains(said, tt.want) {
			t.Errorf("%s with %s: unknown %t, said %q, want %q", tt.job, tt.stubs, got, said, tt.want)
		}
	}
}

// The parts of jobs that others may read have no values of the call, which may be
// secrets.
func TestRedacted(t *testing.T) {
	t.Parallel()
	in := write(t, map[string]string{"a": named("a"), "b": named("b"), "broken": "job {"})
	files, _, err := jobfile.Read(t.Context(), []string{in("a"), in("broken"), in("b")}, nil, nil, jobfile.Options{Vars: []string{"region=a-secret"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := jobfile.Given(files[:1]); !slices.Equal(got, []string{"a-secret"}) {
		t.Errorf("values of the call are %q", got)
	}
	all, err := jobfile.Redacted(files)
	if err != nil || len(all) != 2 {
		t.Fatalf("%d jobs, %v", len(all), err)
	}
	for id, text := range all {
		if strings.Contains(string(text), "a-secret") || !strings.Contains(string(text), `"ID":"`+id+`"`) {
			t.Errorf("%s: %s", id, text)
		}
	}
}

// Samples of variables are for files that lack a value.
func TestFit(t *testing.T) {
	t.Parallel()
	in := write(t, map[string]string{"job": named("a"), "needs": strings.Replace(named("b"), `  default = "none"`, "", 1)})
	for name, want := range map[string]bool{"job": false, "needs": true} {
		fitted := false
		_, _, err := jobfile.Read(t.Context(), []string{in(name)}, nil, nil, jobfile.Options{Outline: true, Fit: func(f jobfile.File) int {
			fitted = true
			if f.Name != in(name) || f.Job == nil {
				t.Errorf("%s is fitted, with job %v", f.Name, f.Job)
			}
			return 0
		}})
		if err != nil || fitted != want {
			t.Errorf("%s: %t, %v", name, fitted, err)
		}
	}
}
