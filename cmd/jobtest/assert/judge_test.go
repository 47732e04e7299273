package assert_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
	"golang.org/x/tools/txtar"

	"taskrun/cmd/jobtest"
	"taskrun/cmd/jobtest/assert"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec"
)

var update = flag.Bool("update", false, "rewrite the golden file")

const job = `
job "web" {
  group "app" {
    count = 2
    network {
      port "http" {}
      port "web-ui" {}
    }
    service {
      name     = "web"
      port     = "http"
      provider = "nomad"
      check {
        name     = "alive"
        type     = "http"
        path     = "/"
        interval = "10s"
        timeout  = "2s"
      }
    }
    task "server" {
      driver = "docker"
      config {
        image = "web"
      }
      template {
        data        = "x"
        destination = "${NOMAD_TASK_DIR}/web.conf"
      }
      template {
        data        = "x"
        destination = "secrets/key"
      }
    }
    task "log" {
      driver = "docker"
      config {
        image = "log"
      }
    }
  }
}
`

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// story makes the outcome of a run by hand.
type story struct {
	t   *testing.T
	o   *jobtest.Outcome
	ids map[string]*event.Alloc
	now time.Time
}

func (s *story) at(after time.Duration) *story {
	s.now = began.Add(after)
	return s
}

// of adds an event of an allocation app[INDEX]#NUMBER.
func (s *story) of(index, number int, task string, body event.Body) *story {
	name := fmt.Sprintf("web.app[%d]", index)
	id := fmt.Sprintf("%s#%d", name, number)
	if s.ids[id] == nil {
		s.ids[id] = &event.Alloc{Job: "web", Group: "app", Name: name, ID: id}
	}
	if b, ok := body.(event.TaskEvent); ok {
		b.Time = s.now.UnixNano()
	}
	return s.add(event.Event{Time: s.now, Alloc: s.ids[id], Task: task, Body: body})
}

func (s *story) add(e event.Event) *story {
	if e.Time.IsZero() {
		e.Time = s.now
	}
	e.Seq = uint64(len(s.o.Events) + 1)
	s.o.Events = append(s.o.Events, e)
	s.o.State.Apply(e)
	return s
}

func (s *story) happened(index, number int, task string, events ...*api.TaskEvent) *story {
	for _, e := range events {
		s.of(index, number, task, event.TaskEvent{TaskEvent: e})
	}
	return s
}

// crashing is a run in which app[0] fails at 40.5 s, and is replaced by another
// allocation that runs; app[1] runs all the time.
func crashing(t *testing.T) *jobtest.Outcome {
	t.Helper()
	file, diagnostics := jobspec.Parse(jobspec.Source{Name: "web.nomad.hcl", Text: []byte(job)}, jobspec.Options{})
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	file.Job.Canonicalize()
	s := &story{t: t, ids: map[string]*event.Alloc{}, o: &jobtest.Outcome{
		Seed: 7, Began: began, Elapsed: 2 * time.Minute, Status: "running", Cause: "until", State: fold.New([]*api.Job{file.Job}),
		Tasks: map[jobtest.TaskKey]*jobtest.TaskOutcome{}, Execs: map[string]*jobtest.ExecOutcome{},
		Notices: []string{"artifacts are left out"}, Secrets: []string{"hunter2!"},
	}}
	running := func(restarts uint64) event.TaskState { return event.TaskState{State: "running", Restarts: restarts} }
	for index := range 2 {
		s.at(0).of(index, 1, "", event.AllocStatus{Status: "pending", Retry: -1})
		for _, task := range []string{"server", "log"} {
			s.happened(index, 1, task, event.Received(), event.Started()).of(index, 1, task, running(0))
		}
		s.of(index, 1, "", event.AllocStatus{Status: "running", Retry: -1})
	}
	s.of(0, 1, "", event.Service{ID: "a", Name: "web", Address: "127.0.0.1", Port: 20000, Tags: []string{"x"}, Registered: true})
	s.of(1, 1, "", event.Service{ID: "b", Name: "web", Address: "127.0.0.1", Port: 20001, Registered: true})
	s.at(time.Second).of(1, 1, "", event.Check{Service: "web", Check: "alive", Status: "success", Output: "200 OK"})
	s.at(20*time.Second).happened(0, 1, "server", event.Terminated(1, 0, false, nil), event.Restarting(500*time.Millisecond, "", true))
	s.at(20500*time.Millisecond).of(0, 1, "server", running(1)).happened(0, 1, "server", event.Started())
	s.at(40500*time.Millisecond).happened(0, 1, "server", event.Terminated(137, 9, true, nil), event.NotRestarting("exceeded"))
	s.of(0, 1, "server", event.TaskState{State: "dead", Failed: true, Restarts: 1, ExitCode: new(137)})
	s.happened(0, 1, "log", event.SiblingFailed("server"), event.Killing(5*time.Second)).of(0, 1, "log", event.TaskState{State: "dead"})
	s.of(0, 1, "", event.AllocStatus{Status: "failed", Description: "Failed tasks", Retry: 30 * time.Second})
	s.of(0, 1, "", event.Service{ID: "a", Name: "web"})
	s.at(70500*time.Millisecond).of(0, 2, "", event.AllocStatus{Status: "running", Replaces: "web.app[0]#1", Retry: -1})
	s.happened(0, 2, "server", event.Received(), event.Started()).of(0, 2, "server", running(0))
	s.at(80*time.Second).of(0, 2, "", event.Check{Service: "web", Check: "alive", Status: "failure", Output: "refused by http://u:pass@h/"})
	s.of(0, 2, "", event.AllocHealth{Healthy: true})
	s.add(event.Event{Body: event.Deployment{Job: "web", ID: "d", Status: "failed", Description: "Failed due to progress deadline"}})
	s.o.Tasks[jobtest.TaskKey{Alloc: "web.app[0]#2", Task: "server"}] = &jobtest.TaskOutcome{
		Env: map[string]string{
			"NOMAD_HOST_PORT_http": "20000", "NOMAD_HOST_PORT_web_ui": "20002", "VAULT_TOKEN": "hvs.token",
			"DB": "postgres://user:password@db/x", "PASSWORD": "hunter2!",
		},
		Stdout: []byte("listening\xff\nhunter2!\n"),
	}
	s.o.ReadFile = func(alloc, path string) ([]byte, error) {
		text, ok := map[string]string{
			"web.app[0]#2 server/local/web.conf": "port = 1\n", "web.app[0]#2 server/secrets/key": "topsecret",
			"web.app[0]#1 alloc/data/x": "first", "web.app[0]#2 alloc/data/x": "second", "web.app[1]#1 alloc/bin": "\xff",
		}[alloc+" "+path]
		if !ok {
			return nil, os.ErrNotExist
		}
		return []byte(text), nil
	}
	return s.o
}

// read reads the runs of a test file.
func read(t *testing.T, text string) []*jobtest.Run {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "web"+jobtest.Suffix)
	for name, text := range map[string]string{path: text, filepath.Join(dir, "web.nomad.hcl"): "", filepath.Join(dir, "expected"): "second"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file, diagnostics := jobtest.Read(path)
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	return file.Runs
}

func TestConditionsThatHold(t *testing.T) {
	t.Parallel()
	for _, condition := range []string{
		`run.status == "running" && run.exit_code == 0 && run.seed == 7 && run.duration == duration("2m") && run.mode == "virtual" && run.name == "r"`,
		`task("app[0]#1/server").restarts == 1 && task("app[0]/server").restarts == 0 && task("app[0]#2/server").number == 2`,
		`task("app[0]#1/server").failed && task("app[0]#1/server").state == "dead" && !task("app[0]/server").failed`,
		`task("app[0]#1/server").exit_code == 137 && task("app[0]#1/server").signal == 9 && task("app[0]#1/server").oom_killed`,
		`task("app[1]/server").exit_code == null && task("app[1]/server").end == null && task("app[1]/server").start == 0`,
		`task("app[0]#1/server").end == 40.5 && task("app[0]/server").start == 70.5`,
		`task("app[0]/log").state == "pending" && task("app[0]/log").start == null`,
		`startswith(task("app[0]/server").stdout, "listening") && task("app[0]/server").stderr == ""`,
		`length(task("app[0]#1/server").events) == 7`,
		`alloc("app[0]").number == 2 && alloc("app[0]").healthy && alloc("app[1]").healthy == null && alloc("app[0]#1").replaced`,
		`alloc("app[0]#1").failed && alloc("app[0]#1").start == 0 && alloc("app[0]#1").end == 40.5 && alloc("app[0]").end == null`,
		`alloc("app[0]#1").tasks["server"].restarts == 1 && alloc("app[0]#1").tasks.log.state == "dead"`,
		`event("app[0]/server", "Restarting")[0].at == 20 && event("app[0]/server", "Restarting")[0].details["start_delay"] == "500000000"`,
		`length(event("app[0]/server", "Started")) == 3 && length(event("app[0]#2/server", "Started")) == 1`,
		`event("app[0]/server", "Started")[1].at == duration("20s500ms") && event("app[0]/server", "Started")[2].number == 2`,
		`[for e in event("app[0]", "allocation") : e.message][2] == "failed: Failed tasks"`,
		`event("", "deployment")[0].details["status"] == "failed" && length(event("web", "deployment")) == 1 && event("", "deployment")[0].alloc == ""`,
		`event("app[0]", "check")[0].at == 80 && event("app[0]", "health")[0].message == "healthy"`,
		`length(event("app[1]")) == 8 && event("app[1]")[1].task == "server"`,
		`length(service("web")) == 1 && service("web")[0].port == 20001 && service("web")[0].alloc == "app[1]" && service("web")[0].tags == tolist([])`,
		`check("alive").status == "failure" && check("web").alloc == "app[0]" && check("app[1]/web").status == "success" && check("app[0]#1/alive").status == "pending"`,
		`port("app[0]/http") == 20000 && port("app[0]/web-ui") == 20002`,
		`deployment().status == "failed" && deployment("web").at == 80 && deployment().version == 0`,
		`file("app[0]/alloc/data/x") == "second" && file("app[0]#1/alloc/data/x") == "first" && file("app[0]/alloc/data/x") == file("./expected")`,
		`template("app[0]/server", "local/web.conf") == "port = 1\n" && template("app[0]/server", "${"secrets"}/key") == "topsecret"`,
		`diagnostics[0] == "artifacts are left out" && length(diagnostics) == 1`,
		`length(allocs("app")) == 2 && allocs("app")[0].number == 2 && allocs("app")[1].number == 1 && !allocs("app")[0].failed`,
		`length(event("app[1]#1")) == 8 && length(event("app[0]#1/log", "Killing")) == 1 && event("web", "Killing")[0].task == "log"`,
		`var.tag == "x" && jsondecode("[1]")[0] == 1 && strcontains("abc", "b") && endswith("abc", "c")`,
		`alltrue([for n in [1, 2] : n > 0]) && !alltrue([true, false]) && anytrue([true, false]) && !anytrue([]) && alltrue([])`,
		`!can(task("app[0]#3/server")) && !can(alloc("app[2]")) && !can(file("app[1]/alloc/bin"))`,
		`run.status != "" && run.cause == "until" && alloc("app[0]#1").description == "Failed tasks" && alloc("app[0]#1").status == "failed" && !alloc("app[0]").replaced`,
		`task("app[0]#1/server").name == "server" && task("app[0]#1/server").alloc == "app[0]" && task("app[0]/server").signal == null && !task("app[1]/server").oom_killed`,
		`task("app[0]/server").env["NOMAD_HOST_PORT_http"] == "20000" && length(task("app[1]/server").env) == 0`,
		`event("app[0]", "allocation")[2].details == convert({status = "failed", description = "Failed tasks", replaces = "false"}, map(string)) && event("app[0]", "allocation")[3].details["replaces"] == "true"`,
		`event("app[0]", "health")[0].details == convert({healthy = "true"}, map(string)) && event("app[0]", "health")[0].number == 2 && event("app[0]", "health")[0].alloc == "app[0]"`,
		`event("", "deployment")[0].details == convert({job = "web", status = "failed", description = "Failed due to progress deadline", version = "0", canarying = "false"}, map(string))`,
		`event("app[0]", "service")[0].details == convert({name = "web", address = "127.0.0.1", port = "20000", registered = "true"}, map(string)) && event("app[0]", "service")[1].details["registered"] == "false"`,
		`event("app[1]", "check")[0].details == convert({service = "web", check = "alive", status = "success", output = "200 OK", target = ""}, map(string))`,
		`service("web")[0].name == "web" && service("web")[0].address == "127.0.0.1" && check("alive").service == "web" && check("alive").name == "alive" && check("app[1]/web").output == "200 OK"`,
		`deployment().job == "web" && deployment().description == "Failed due to progress deadline" && !deployment().canarying`,
		`duration("95.2s") == 95.2 && duration("-1.5s") == -1.5 && duration("1ns") == 0.000000001`,
	} {
		condition = strings.ReplaceAll(condition, "tolist([])", "convert([], list(string))")
		run := read(t, "variables { tag = \"x\" }\nrun \"r\" {\n assert { condition = "+condition+" }\n}\n")[0]
		if failures := assert.Judge(run, crashing(t)); len(failures) > 0 {
			t.Errorf("%s\n%s", condition, describe(failures))
		}
	}
}

// A command that was not run has no exit code.
func TestExecs(t *testing.T) {
	t.Parallel()
	run := read(t, `run "r" {
  mode = "real"
  exec "app[0]/server" { command = ["x"] }
  exec "app[1]/server" { command = ["x"] }
  assert { condition = run.mode == "real" && exec["app[0]/server"] == {exit_code = 3, stdout = "out", stderr = "err"} }
  assert { condition = exec["app[1]/server"].exit_code == null && exec["app[1]/server"].stdout == "" }
}
`)[0]
	o := crashing(t)
	o.Execs["app[0]/server"] = &jobtest.ExecOutcome{ExitCode: 3, Stdout: []byte("out"), Stderr: []byte("err")}
	if failures := assert.Judge(run, o); len(failures) > 0 {
		t.Error(describe(failures))
	}
}

func describe(failures []assert.Failure) string {
	var b strings.Builder
	for _, f := range failures {
		f.Range.File = filepath.Base(f.Range.File)
		fmt.Fprintln(&b, f.Error())
		for _, v := range f.Values {
			fmt.Fprintf(&b, "  %s = %s\n", v.Text, v.Value)
		}
		if f.Remedy != "" {
			fmt.Fprintln(&b, "  remedy:", f.Remedy)
		}
		if len(f.Targets) > 0 {
			fmt.Fprintln(&b, "  events of", strings.Join(f.Targets, ", "))
		}
	}
	return b.String()
}

// TestFailures judges the runs of a file and compares the failures with those in the
// archive.
func TestFailures(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "failures.txtar")
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, run := range read(t, string(archive.Files[0].Data)) {
		fmt.Fprintf(&got, "== %s\n%s", run.Name, describe(assert.Judge(run, crashing(t))))
	}
	if *update {
		archive.Files[1].Data = []byte(got.String())
		if err := os.WriteFile(path, txtar.Format(archive), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(archive.Files[1].Data), got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, secret := range []string{"hunter2", "hvs.token", "topsecret", "password@", "u:pass"} {
		if strings.Contains(got.String(), secret) {
			t.Errorf("it shows %q", secret)
		}
	}
}

func TestHowARunEnds(t *testing.T) {
	t.Parallel()
	const none = ""
	for _, c := range []struct {
		name, text string
		change     func(*jobtest.Outcome)
		want       string // part of the only failure
	}{
		{"until was reached", ``, nil, none},
		{"it was unfinished", ``, func(o *jobtest.Outcome) { o.Unfinished = "it timed out after 5m" }, "the run was ended: it timed out after 5m"},
		{"unfinished, though the condition holds", `assert { condition = true }`, func(o *jobtest.Outcome) { o.Unfinished = "it timed out" }, "the run was ended: it timed out"},
		{"it failed", ``, failed, `allocation "app[0]" has failed: task "server" has failed`},
		{"it failed with a code", ``, func(o *jobtest.Outcome) {
			ofServer(o, event.Terminated(2, 0, false, nil))
			failed(o)
		}, `allocation "app[0]" has failed: task "server" ended with exit code 2`},
		{"it failed by a signal", ``, func(o *jobtest.Outcome) {
			ofServer(o, event.Terminated(137, 9, false, nil))
			failed(o)
		}, `allocation "app[0]" has failed: task "server" was ended by signal 9`},
		{"it failed without a start", ``, func(o *jobtest.Outcome) {
			ofServer(o, event.SetupFailure(errors.New("no folder")))
			failed(o)
		}, `allocation "app[0]" has failed: task "server": failed to setup alloc: no folder`},
		{"it failed without a task", ``, func(o *jobtest.Outcome) {
			o.State.Apply(event.Event{Time: began, Alloc: o.State.Find("web.app[0]#2").Alloc, Body: event.AllocStatus{Status: "failed", Retry: -1}})
			o.Cause = "the machine is full"
		}, `allocation "app[0]" has failed: the machine is full`},
		{"it failed, as is asserted", `assert { condition = run.status == "failed" }`, failed, none},
		{"it failed, and its snapshot says so", `snapshot = "x"`, failed, none},
		{"a task was to fail", `expect_failures = ["app[0]/server"]`, failed, none},
		{"tasks were to fail", `expect_failures = ["server"]`, failed, none},
		{"an allocation was to fail", `expect_failures = ["app[0]"]`, failed, none},
		{"a group was to fail", `expect_failures = ["app"]`, failed, none},
		{"a check was to fail", `expect_failures = ["alive"]`, failed, none},
		{"another one was to fail", `expect_failures = ["app[1]/server"]`, failed, `"app[1]/server" has not failed: expect_failures names it`},
		{"it ended with a code", ``, func(o *jobtest.Outcome) { o.ExitCode, o.Cause = 1, "deployment failed" }, "the run has ended with exit code 1: deployment failed"},
		{"with a code, as a check was to fail", `expect_failures = ["web"]`, func(o *jobtest.Outcome) { o.ExitCode = 1 }, none},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := crashing(t)
			if c.change != nil {
				c.change(o)
			}
			failures := assert.Judge(read(t, "run \"r\" {\n"+c.text+"\n}\n")[0], o)
			if c.want == none && len(failures) > 0 || c.want != none && (len(failures) != 1 || !strings.HasSuffix(failures[0].Error(), ": "+c.want)) {
				t.Errorf("want %q, got\n%s", c.want, describe(failures))
			}
		})
	}
}

// ofServer adds an event of the server of the second app[0].
func ofServer(o *jobtest.Outcome, e *api.TaskEvent) {
	e.Time = began.UnixNano()
	o.State.Apply(event.Event{Time: began, Alloc: o.State.Find("web.app[0]#2").Alloc, Task: "server", Body: event.TaskEvent{TaskEvent: e}})
}

// failed has the second app[0] fail as well.
func failed(o *jobtest.Outcome) {
	last := o.State.Find("web.app[0]#2").Alloc
	for _, e := range []event.Event{
		{Time: began.Add(90 * time.Second), Alloc: last, Task: "server", Body: event.TaskState{State: "dead", Failed: true}},
		{Time: began.Add(90 * time.Second), Alloc: last, Body: event.AllocStatus{Status: "failed", Retry: -1}},
	} {
		o.Events = append(o.Events, e)
		o.State.Apply(e)
	}
	o.Status, o.ExitCode, o.Cause = "failed", 1, "restart policy"
}

// A failure shows as many parts of its condition as there is room for.
func TestManyParts(t *testing.T) {
	t.Parallel()
	var parts []string
	for i := range 51 {
		parts = append(parts, fmt.Sprintf(`strlen("%d") == 9`, i))
	}
	for n, want := range map[int]int{49: 49, 50: 50, 51: 50} {
		failures := assert.Judge(read(t, "run \"r\" {\n assert { condition = "+strings.Join(parts[:n], " || ")+" }\n}\n")[0], crashing(t))
		if len(failures) != 1 || len(failures[0].Values) != want {
			t.Errorf("of %d parts %d are shown, want %d", n, len(failures[0].Values), want)
		}
	}
}

// A job may end before it has allocations.
func TestNothingWasPlaced(t *testing.T) {
	t.Parallel()
	o := crashing(t)
	o.State, o.Events = fold.New(o.State.Jobs), nil
	run := read(t, `run "r" {
  assert { condition = length(allocs("app")) == 0 && length(service("web")) == 0 && length(event("app[0]")) == 0 }
  assert { condition = check("alive").status == "pending" && check("alive").name == "alive" && check("alive").alloc == "" }
  assert { condition = alloc("app[0]").failed }
  assert { condition = deployment().status == "" }
}
`)[0]
	const want = `web.nomadtest.hcl:4,24: alloc() fails: allocation "app[0]" was never placed
  events of app[0]
web.nomadtest.hcl:5,24: deployment() fails: there was no deployment
`
	if diff := cmp.Diff(want, describe(assert.Judge(run, o))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFilesThatAreGone(t *testing.T) {
	t.Parallel()
	o := crashing(t)
	o.ReadFile = func(string, string) ([]byte, error) { return nil, errors.New("closed") }
	failures := assert.Judge(read(t, "run \"r\" {\n assert { condition = file(\"app[1]/alloc/x\") == \"\" }\n}\n")[0], o)
	if len(failures) != 1 || !strings.Contains(failures[0].Error(), `cannot read "alloc/x" of app[1]: closed`) {
		t.Error(describe(failures))
	}
	o.ReadFile = nil
	failures = assert.Judge(read(t, "run \"r\" {\n assert { condition = file(\"app[1]/alloc/x\") == \"\" }\n}\n")[0], o)
	if len(failures) != 1 || !strings.Contains(failures[0].Error(), "the files of this run are gone") {
		t.Error(describe(failures))
	}
}
