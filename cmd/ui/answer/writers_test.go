package answer

import (
	"bytes"
	"errors"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/ui"
)

// begin is the start of every run in these tests.
var begin = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// terminal makes stdout a terminal with the given columns.
func terminal(s *ui.Streams, columns int) {
	s.OutTerm = true
	s.Env = func(name string) string {
		return map[string]string{"TERM": "xterm", "COLUMNS": strconv.Itoa(columns)}[name]
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

var now = regexp.MustCompile(`"time":"20[^"]*Z"`)

// written compares output with a text; the times of objects are "…".
func written(t *testing.T, out *bytes.Buffer, want string) {
	t.Helper()
	if diff := cmp.Diff(want, now.ReplaceAllString(out.String(), `"time":"…"`)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	out.Reset()
}

// Every command shows its results in each mode, with escape sequences in names
// made visible, and no line wider than the terminal.
func TestWriters(t *testing.T) {
	t.Parallel()
	write := map[string]func(To) error{
		"actions": func(to To) error {
			return WriteActions(to, []Action{
				{ui.Origin{Job: "j", Group: "g", Alloc: "j.g[0]", AllocID: "1234", Task: "web"}, "web", "re\x1bload", []string{"/bin/sh", "-c", "kill -HUP \x1b[31m1"}},
				{ui.Origin{Job: "j", Group: "g", Alloc: "j.g[0]", AllocID: "1234", Task: "a-task-with-a-name"}, "a-task-with-a-name", "dump", nil},
			})
		},
		"orphans": func(to To) error {
			return WriteOrphans(to, []Orphan{{"a, b", 4711, "/bin/x\x1b"}, {"c", 7, "sleep 1"}})
		},
		"no orphans": func(to To) error { return WriteOrphans(to, nil) },
		"usage": func(to To) error {
			return WriteUsage(to, []Usage{
				{ui.Origin{Job: "j", Group: "g", Alloc: "j.g[0]", AllocID: "12345678-9", Task: "web"}, 12.34, 400.9, 3 << 19, "web"},
				{ui.Origin{Job: "j", Group: "g", Alloc: "j.g[0]", AllocID: "12345678-9", Task: "a-task-with-a-name"}, 0, 0, 1 << 30, "a-task-with-a-name"},
			})
		},
		"dispatched": func(to To) error { return WriteDispatched(to, "j", "j/dispatch-\x1b") },
		"warnings": func(to To) error {
			return ui.WriteWarnings(to.Streams, to.Mode, to.Color, []ui.Diagnostic{
				{Severity: "warning", Summary: "odd\x1b", Detail: "very\nodd", File: "j.hcl", Line: 3, Column: 7},
				{Severity: "warning", Summary: "bare"},
			})
		},
		"detached": func(to To) error {
			return WriteDetached(to, []Detached{
				{Run: ui.Run{Job: "web", Version: "1.2.3", PID: 4711, Socket: "/s", DataDir: "/d", RunDir: "/run/web", Log: "/d/log"}, Name: "web"},
				{Run: ui.Run{Job: "\x1bdb", Version: "1.2.3", PID: 4711, Socket: "/s", DataDir: "/d", Log: "/d/log"}, Name: "\x1bdb"},
			})
		},
		"registered": func(to To) error {
			return WriteDetached(to, []Detached{{ui.Run{Job: "web", Address: "http://c"}, "web", " --address http://c"}})
		},
	}
	for _, c := range []struct {
		what     string
		mode     ui.Mode
		columns  int
		out, err string
	}{
		{
			what: "actions", mode: ui.Plain,
			out: "TASK                ACTION      COMMAND\n" +
				"web                 re\\x1bload  /bin/sh -c kill -HUP 1\n" +
				"a-task-with-a-name  dump\n",
		},
		{
			what: "actions", mode: ui.Plain, columns: 30,
			out: "TASK      ACTION     COMMAND\n" +
				"web       re\\x…load  /bin…UP 1\n" +
				"a-t…name  dump\n",
		},
		{what: "actions", mode: ui.Quiet, out: "web re\\x1bload\na-task-with-a-name dump\n"},
		{
			what: "actions", mode: ui.JSON,
			out: `{"type":"action","time":"…","job":"j","group":"g","alloc":"j.g[0]","alloc_id":"1234","task":"web","target":"web","action":"re\u001bload","command":["/bin/sh","-c","kill -HUP \u001b[31m1"]}` + "\n" +
				`{"type":"action","time":"…","job":"j","group":"g","alloc":"j.g[0]","alloc_id":"1234","task":"a-task-with-a-name","target":"a-task-with-a-name","action":"dump","command":null}` + "\n",
		},
		{what: "orphans", mode: ui.Plain, out: "JOB   PID   COMMAND\na, b  4711  /bin/x\\x1b\nc     7     sleep 1\n"},
		{what: "orphans", mode: ui.Quiet, out: "4711\n7\n"},
		{
			what: "orphans", mode: ui.JSON,
			out: `{"type":"orphan","time":"…","job":"a, b","pid":4711,"command":"/bin/x\u001b"}` + "\n" +
				`{"type":"orphan","time":"…","job":"c","pid":7,"command":"sleep 1"}` + "\n",
		},
		{what: "no orphans", mode: ui.Plain},
		{
			what: "usage", mode: ui.Plain,
			out: "JOB  TASK                ALLOC     CPU %  MHZ      MEMORY\n" +
				"j    web                 12345678   12.3  400     1.5 MiB\n" +
				"j    a-task-with-a-name  12345678    0.0    0  1024.0 MiB\n",
		},
		{
			what: "usage", mode: ui.Quiet, columns: 50,
			out: "JOB  TASK         ALLOC     CPU %  MHZ      MEMORY\n" +
				"j    web          12345678   12.3  400     1.5 MiB\n" +
				"j    a-tas…-name  12345678    0.0    0  1024.0 MiB\n",
		},
		{
			what: "usage", mode: ui.JSON,
			out: `{"type":"stats","time":"…","job":"j","group":"g","alloc":"j.g[0]","alloc_id":"12345678-9","task":"web","cpu_percent":12.34,"cpu_mhz":400.9,"memory_bytes":1572864,"target":"web"}` + "\n" +
				`{"type":"stats","time":"…","job":"j","group":"g","alloc":"j.g[0]","alloc_id":"12345678-9","task":"a-task-with-a-name","cpu_percent":0,"cpu_mhz":0,"memory_bytes":1073741824,"target":"a-task-with-a-name"}` + "\n",
		},
		{what: "dispatched", mode: ui.Plain, out: "j/dispatch-\\x1b\n"},
		{what: "dispatched", mode: ui.Quiet, out: "j/dispatch-\\x1b\n"},
		{what: "dispatched", mode: ui.JSON, out: `{"type":"dispatched","time":"…","job":"j","dispatched_job":"j/dispatch-\u001b"}` + "\n"},
		{what: "warnings", mode: ui.Plain, err: "warning: j.hcl:3: odd\\x1b; very odd\nwarning: bare\n"},
		{what: "warnings", mode: ui.Quiet},
		{
			what: "warnings", mode: ui.JSON,
			out: `{"type":"diagnostic","time":"…","severity":"warning","summary":"odd\u001b","detail":"very\nodd","file":"j.hcl","line":3,"column":7}` + "\n" +
				`{"type":"diagnostic","time":"…","severity":"warning","summary":"bare","detail":"","file":"","line":0,"column":0}` + "\n",
		},
		{
			what: "detached", mode: ui.Plain,
			err: "✓ job web runs in the background\n" +
				"  taskrun attach web         shows it\n" +
				"  taskrun logs -f --job web  follows its output\n" +
				"  taskrun stop web           stops it\n" +
				"✓ job \\x1bdb runs in the background\n" +
				"  taskrun attach \\x1bdb         shows it\n" +
				"  taskrun logs -f --job \\x1bdb  follows its output\n" +
				"  taskrun stop \\x1bdb           stops it\n",
		},
		{what: "detached", mode: ui.Quiet},
		{
			what: "detached", mode: ui.JSON,
			out: `{"type":"run","time":"…","job":"web","version":"1.2.3","pid":4711,"socket":"/s","data_dir":"/d","run_dir":"/run/web","log":"/d/log"}` + "\n" +
				`{"type":"run","time":"…","job":"\u001bdb","version":"1.2.3","pid":4711,"socket":"/s","data_dir":"/d","log":"/d/log"}` + "\n",
		},
		{
			what: "registered", mode: ui.Plain,
			err: "✓ job web is registered in http://c\n" +
				"  taskrun attach --address http://c web         shows it\n" +
				"  taskrun logs --address http://c -f --job web  follows its output\n" +
				"  taskrun stop --address http://c web           stops it\n",
		},
	} {
		t.Run(c.what+" "+string(c.mode), func(t *testing.T) {
			t.Parallel()
			s, out, err := ui.Test()
			if c.columns > 0 {
				terminal(s, c.columns)
			}
			if err := write[c.what](To{s, c.mode, ui.ColorNever, begin}); err != nil {
				t.Error(err)
			}
			written(t, out, c.out)
			written(t, err, c.err)
			s.Out = failingWriter{syscall.EPIPE}
			if err := write[c.what](To{s, c.mode, ui.ColorNever, begin}); (c.out != "") != errors.Is(err, syscall.EPIPE) {
				t.Errorf("with stdout closed: %v", err)
			}
		})
	}
}

// Each change of a deployment is one line, or one object.
func TestRollout(t *testing.T) {
	t.Parallel()
	deployment := func(status, description string, healthy int, promoted bool) *api.Deployment {
		return &api.Deployment{
			ID: "d1", JobID: "web", JobVersion: 3, Status: status, StatusDescription: description,
			TaskGroups: map[string]*api.DeploymentState{
				"b": {DesiredTotal: 2, PlacedAllocs: 2, HealthyAllocs: healthy, UnhealthyAllocs: 1},
				"a": {DesiredTotal: 3, DesiredCanaries: 2, PlacedCanaries: []string{"x"}, Promoted: promoted},
			},
		}
	}
	steps := []*api.Deployment{
		deployment("running", "Deployment is running", 0, false),
		deployment("running", "Deployment is running", 0, false), // nothing has changed
		deployment("running", "Deployment is running", 1, true),
		deployment("failed", "Failed\x1b", 1, true),
		deployment("cancelled", "Canceled", 1, true),
		deployment("successful", "Deployment completed successfully", 2, true),
	}
	for mode, want := range map[ui.Mode]string{
		ui.Plain: "○ version 3: Deployment is running; a: 0 of 3 healthy, 1 of 2 canaries placed; b: 0 of 2 healthy\n" +
			"○ version 3: Deployment is running; a: 0 of 3 healthy; b: 1 of 2 healthy\n" +
			"✗ version 3: Failed\\x1b\n" +
			"✗ version 3: Canceled\n" +
			"✓ version 3: Deployment completed successfully\n",
		ui.Quiet: "",
	} {
		s, out, _ := ui.Test()
		r := Rollout{To: To{Streams: s, Mode: mode, Color: ui.ColorNever}}
		for _, d := range steps {
			if err := r.Show(d); err != nil {
				t.Error(err)
			}
		}
		written(t, out, want)
	}
	s, out, _ := ui.Test()
	r := Rollout{To: To{Streams: s, Mode: ui.JSON}}
	for _, d := range steps[:2] {
		if err := r.Show(d); err != nil {
			t.Error(err)
		}
	}
	written(t, out, `{"type":"deployment","time":"…","job":"web","id":"d1","version":3,"status":"running","description":"Deployment is running",`+
		`"groups":{"a":{"desired":3,"placed":0,"healthy":0,"unhealthy":0,"canaries":2,"promoted":false},`+
		`"b":{"desired":2,"placed":2,"healthy":0,"unhealthy":1,"canaries":0,"promoted":false}}}`+"\n")
	s.Out = failingWriter{syscall.EPIPE}
	if err := r.Show(steps[5]); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("with stdout closed: %v", err)
	}
}
