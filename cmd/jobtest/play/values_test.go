package play_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"taskrun/cmd/jobtest"
	"taskrun/jobspec"
)

const valued = `
-- taskrun.hcl --
nomad_variable "nomad/jobs/it" {
  word = "stubbed"
}
variables {
  image = "of-the-stubs"
  port  = 1
}
-- it.nomad.hcl --
variable "image" {}
variable "port" { type = number }
job "it" {
  group "g" {
    task "t" {
      driver = "docker"
      config { image = var.image }
      env {
        IMAGE = var.image
        PORT  = "${var.port}"
      }
      template {
        destination = "secrets/word"
        data        = "{{ with nomadVar \"nomad/jobs/it\" }}{{ .word }}{{ end }}"
      }
      template {
        destination = "local/index"
        data        = "{{ env \"NOMAD_ALLOC_INDEX\" }}"
      }
    }
  }
}
-- it.nomadtest.hcl --
variables { image = "of-the-test" }
run "values" {
  task "t" {
    run_for   = "5s"
    exit_code = 1
    stdout    = "out\n"
    stderr    = "err\n"
    attempt "2" {
      stdout = "again\n"
      run_for = "1h"
    }
  }
  until = "1m"
}
`

// An outcome has what the events do not tell, as it was at the moment of until.
func TestValues(t *testing.T) {
	t.Parallel()
	s := newStage(t, txtar.Parse([]byte(valued)))
	o, err := s.play(s.prepare("it.nomadtest.hcl")[0], 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.State.Allocs) != 1 {
		t.Fatalf("there are %d allocations", len(o.State.Allocs))
	}
	alloc := o.State.Allocs[0]
	task := o.Tasks[jobtest.TaskKey{Alloc: alloc.ID, Task: "t"}]
	if string(task.Stdout) != "out\nagain\n" || string(task.Stderr) != "err\n" {
		t.Errorf("it wrote %q, %q", task.Stdout, task.Stderr)
	}
	if task.Env["IMAGE"] != "of-the-test" || task.Env["PORT"] != "1" || task.Env["NOMAD_ALLOC_ID"] != alloc.ID {
		t.Errorf("its environment is %v", task.Env)
	}
	for path, want := range map[string]string{"t/secrets/word": "stubbed", "t/local/index": "0"} {
		if text, err := o.ReadFile(alloc.ID, path); err != nil || string(text) != want {
			t.Errorf("%s is %q, %v", path, text, err)
		}
	}
	if !slices.Contains(o.Secrets, "stubbed") {
		t.Errorf("the secrets are %q", o.Secrets)
	}
	if state := alloc.Tasks[0]; state.State != "running" || state.Restarts != 1 {
		t.Errorf("its state is %+v", state.TaskState)
	}
}

// A run in which no time passes ends nevertheless, and says what it left out.
func TestFlood(t *testing.T) {
	t.Parallel()
	s := newStage(t, txtar.Parse([]byte(`
-- it.nomad.hcl --
job "it" {
  type = "batch"
  group "g" {
    restart {
      attempts = 1000000
      interval = "1h"
      delay    = "0s"
      mode     = "fail"
    }
    task "t" {
      driver = "docker"
      config { image = "x" }
      artifact { source = "https://artifacts.test/x" }
    }
  }
}
-- it.nomadtest.hcl --
run "it" {
  task "t" { exit_code = 1 }
}
`)))
	s.player.MaxEvents = 2000
	o, err := s.play(s.prepare("it.nomadtest.hcl")[0], 1)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(o.Unfinished, "it had more than 2000 events within ") || o.ExitCode != 1 || len(o.Events) == 0 {
		t.Errorf("%q, exit code %d, %d events", o.Unfinished, o.ExitCode, len(o.Events))
	}
	if notice := "a virtual run downloads no artifacts: 1 left out"; !slices.Contains(o.Notices, notice) {
		t.Errorf("the notices are %q", o.Notices)
	}
}

// Files are read as hostile input.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	s := newStage(t, txtar.Parse([]byte(valued)))
	o, err := s.play(s.prepare("it.nomadtest.hcl")[0], 1)
	if err != nil {
		t.Fatal(err)
	}
	id := o.State.Allocs[0].ID
	dirs, _ := filepath.Glob(filepath.Join(s.player.Dir, "run-*/jobs/it/runs/*/alloc", id, "t/local"))
	if len(dirs) != 1 {
		t.Fatalf("the task's directory is %q", dirs)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	for _, err := range []error{
		os.WriteFile(outside, []byte("secret"), 0o600), os.Symlink(outside, filepath.Join(dirs[0], "link")),
		syscall.Mkfifo(filepath.Join(dirs[0], "fifo"), 0o600),
		os.WriteFile(filepath.Join(dirs[0], "large"), nil, 0o600), os.Truncate(filepath.Join(dirs[0], "large"), 1<<40),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{
		"t/local/link", "t/local/fifo", "t/local/large", "t/local", "t/local/missing", "../" + id + "/t/local/index", "/etc/passwd", "",
	} {
		if text, err := o.ReadFile(id, path); err == nil {
			t.Errorf("%q was read: %q", path, text)
		}
	}
	if _, err := o.ReadFile("another", "t/local/index"); err == nil {
		t.Error("a file of an unknown allocation was read")
	}
}

// Orders that cannot be carried out end the run, where they stand.
func TestRefusedOrders(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ run, want string }{
		"after the end": {`
	at "5s" { stop = "it" }
	at "10h" { restart = "g/t" }`, "the run ended before this order: it ended after 5s, and the order is for 10h0m0s"},
		"a task that does not run": {`
	task "t" { exit_code = 1 }
	at "5s" { restart = "g/t" }
	until = "1h"`, `restart was refused: task "g/t" is not running`},
		"an allocation that has ended": {`
	task "t" { exit_code = 1 }
	at "50s" { restart = "g[0]" }
	until = "1h"`, `restart was refused: no allocation of "g[0]" is running`},
		"a job without a living allocation": {`
	task "t" { exit_code = 1 }
	at "50s" { restart = "it" }
	until = "1h"`, "restart was refused: no allocation of the job is running"},
		"a deployment that has ended": {`
	at "5m" { promote = true }
	until = "1h"`, "promote was refused: can't promote terminal deployment"},
		"no parameters": {`
	at "5s" { dispatch = {} }
	until = "1h"`, `dispatch was refused: Specified job "it" is not a parameterized job`},
		"an unknown signal": {`
	at "5s" { signal = "SIGNONE" }
	until = "1h"`, `signal was refused: unknown signal "SIGNONE"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive := txtar.Parse([]byte(valued))
			last := &archive.Files[len(archive.Files)-1]
			last.Data = []byte("variables { image = \"x\" }\nrun \"it\" {" + tt.run + "\n}\n")
			s := newStage(t, archive)
			f, diagnostics := jobtest.Read(filepath.Join(s.dir, "it.nomadtest.hcl"))
			if diagnostics.HasErrors() {
				t.Fatal(diagnostics)
			}
			run, diagnostics, err := s.player.Prepare(context.Background(), f, f.Runs[0])
			if err != nil || run == nil {
				t.Fatal(diagnostics, err)
			}
			o, err := s.play(run, 1)
			var d jobspec.Diagnostic
			if !errors.As(err, &d) || d.Summary+": "+d.Detail != tt.want || d.Range.Start.Line == 0 {
				t.Errorf("the error is %v, want %q", err, tt.want)
			}
			if o == nil || len(o.Events) == 0 {
				t.Error("there is no outcome")
			}
		})
	}
}

// Errors in a job, or in a version of it, are found before anything runs.
func TestWrongJobs(t *testing.T) {
	t.Parallel()
	const test = "-- it.nomadtest.hcl --\nrun \"it\" {\n  at \"1m\" { update = \"v2.nomad.hcl\" }\n  until = \"2m\"\n}\n"
	const fine = `job "it" {
  group "g" {
    task "t" {
      driver = "docker"
      config { image = "x" }
    }
  }
}
`
	for name, tt := range map[string]struct{ job, v2, want string }{
		"syntax":              {"job\n", fine, "argument or block definition required"},
		"an unknown driver":   {strings.Replace(fine, "docker", "dokcer", 1), fine, "dokcer"},
		"the config":          {fine, strings.Replace(fine, "image =", "imgae =", 1), "imgae"},
		"another job":         {fine, strings.Replace(fine, `"it"`, `"other"`, 1), "v2.nomad.hcl is another job"},
		"a variable it lacks": {`variable "v" {}` + "\n" + fine, fine, "v"},
		"an empty version":    {fine, "", "empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, txtar.Parse([]byte("-- it.nomad.hcl --\n"+tt.job+"-- v2.nomad.hcl --\n"+tt.v2+test)))
			f, diagnostics := jobtest.Read(filepath.Join(s.dir, "it.nomadtest.hcl"))
			if diagnostics.HasErrors() {
				t.Fatal(diagnostics)
			}
			run, diagnostics, err := s.player.Prepare(context.Background(), f, f.Runs[0])
			if run != nil || err != nil || !diagnostics.HasErrors() || !strings.Contains(diagnostics.Error(), tt.want) {
				t.Errorf("%v, %v", diagnostics, err)
			}
		})
	}
}

// A seed gives a run everything that is random in it, on one processor or several.
func TestRunsWithOneSeedAreEqual(t *testing.T) {
	archives, _ := filepath.Glob("testdata/*.txtar")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		s := newStage(t, archive)
		tests, _ := filepath.Glob(filepath.Join(s.dir, "*"+jobtest.Suffix))
		first := map[string]string{}
		times := 4
		if base := filepath.Base(name); base == "lifecycle.txtar" || base == "update.txtar" { // where most happens at once
			times = 20
		}
		for n := range times {
			runtime.GOMAXPROCS(1 + n%2)
			for _, test := range tests {
				for _, p := range s.prepare(filepath.Base(test)) {
					o, err := s.play(p, 7)
					if err != nil {
						t.Fatal(err)
					}
					all := ""
					for _, e := range o.Events {
						body, err := json.Marshal(e.Body)
						if err != nil {
							t.Fatal(err)
						}
						all += fmt.Sprintf("%d %v %v %s %s\n", e.Seq, e.Time, e.Alloc, e.Task, body)
					}
					all += told(o)
					key := test + p.Run.Name
					if n == 0 {
						first[key] = all
					}
					if diff := cmp.Diff(first[key], all); diff != "" {
						t.Fatalf("%s, run %q, time %d: %s", name, p.Run.Name, n, diff)
					}
				}
			}
		}
	}
}
