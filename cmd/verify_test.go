package cmd

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taskrun/cmd/verdict"
	"taskrun/jobspec"
)

// unlike are jobs that are not compared with a real Nomad, and why.
var unlike = map[string]string{
	"parameterized":      "it only launches other jobs",
	"template-escape":    "taskrun refuses it before it starts",
	"restart-delay-mode": "how often it restarts depends on chance",
}

// TestVerifyOnNomad runs verify with the nomad command that $NOMAD names, which has
// to behave as when the jobs were recorded.
func TestVerifyOnNomad(t *testing.T) {
	t.Parallel()
	nomad := os.Getenv("NOMAD")
	if nomad == "" {
		t.Skip("NOMAD names no nomad command")
	}
	jobs, err := filepath.Glob("../testdata/runs/*.nomad.hcl")
	if err != nil || len(jobs) == 0 {
		t.Fatalf("no recorded jobs found: %v", err)
	}
	for _, name := range []string{"hello", "fail", "smoke", "web", "volume"} {
		jobs = append(jobs, "../testdata/jobs/"+name+".nomad.hcl")
	}
	for _, job := range jobs {
		name := strings.TrimSuffix(filepath.Base(job), ".nomad.hcl")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if why := unlike[name]; why != "" {
				t.Skip(why)
			}
			c := exec.CommandContext(t.Context(), "taskrun", "verify", "--nomad", nomad, "--timeout", "45s", job)
			c.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TASKRUN_") })
			out, err := c.CombinedOutput()
			if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == verdict.Failed {
				t.Errorf("it differs:\n%s", out)
			} else if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// A service with a deployment is stopped once that is successful, unless it needs a
// promotion or health set by hand; others are stopped after a while.
func TestWhenAJobIsStopped(t *testing.T) {
	t.Parallel()
	const group = "group \"g\" {\n task \"t\" {\n driver = \"mock_driver\"\n }\n}"
	for _, c := range []struct {
		job, want string
	}{
		{group, "healthy"},
		{"update {\n max_parallel = 0\n}\n" + group, "running=10s"},
		{"update {\n canary = 1\n}\n" + group, "running=10s"},
		{"update {\n canary = 1\n auto_promote = true\n}\n" + group, "healthy"},
		{"update {\n health_check = \"manual\"\n}\n" + group, "running=10s"},
		{"type = \"system\"\n" + group, "running=10s"},
	} {
		file, diagnostics := jobspec.Parse(jobspec.Source{Name: "j.nomad.hcl", Text: []byte("job \"j\" {\n" + c.job + "\n}\n")}, jobspec.Options{})
		if diagnostics.HasErrors() {
			t.Fatal(diagnostics)
		}
		file.Job.Canonicalize()
		until := naturalUntil(file.Job)
		if got := until.String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.job, got, c.want)
		}
	}
}
