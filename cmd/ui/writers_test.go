package ui

import (
	"bytes"
	"errors"
	"regexp"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

var now = regexp.MustCompile(`"time":"20[^"]*Z"`)

// written compares what was written with a text; times of objects are "…".
func written(t *testing.T, out *bytes.Buffer, want string) {
	t.Helper()
	if diff := cmp.Diff(want, now.ReplaceAllString(out.String(), `"time":"…"`)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	out.Reset()
}

// Every command shows its results in each mode, names with escape sequences in
// them as text, and in a terminal no line is wider than that.
func TestWriters(t *testing.T) {
	t.Parallel()
	write := map[string]func(*Streams, Mode) error{
		"actions": func(s *Streams, m Mode) error {
			return WriteActions(s, m, ColourNever, []Action{
				{"j", "g", "j.g[0]", "1234", "web", "web", "re\x1bload", []string{"/bin/sh", "-c", "kill -HUP \x1b[31m1"}},
				{"j", "g", "j.g[0]", "1234", "a-task-with-a-name", "a-task-with-a-name", "dump", nil},
			})
		},
		"orphans": func(s *Streams, m Mode) error {
			return WriteOrphans(s, m, ColourNever, begin, []Orphan{{"a, b", 4711, "/bin/x\x1b"}, {"c", 7, "sleep 1"}})
		},
		"no orphans": func(s *Streams, m Mode) error { return WriteOrphans(s, m, ColourNever, begin, nil) },
		"usage": func(s *Streams, m Mode) error {
			return WriteUsage(s, m, ColourNever, begin, []Usage{
				{"j", "g", "j.g[0]", "12345678-9", "web", 12.34, 400.9, 3 << 19, "web"},
				{"j", "g", "j.g[0]", "12345678-9", "a-task-with-a-name", 0, 0, 1 << 30, "a-task-with-a-name"},
			})
		},
		"dispatched": func(s *Streams, m Mode) error { return WriteDispatched(s, m, begin, "j", "j/dispatch-\x1b") },
		"warnings": func(s *Streams, m Mode) error {
			return WriteWarnings(s, m, ColourNever, []Diagnostic{
				{Severity: "warning", Summary: "odd\x1b", Detail: "very\nodd", File: "j.hcl", Line: 3, Column: 7},
				{Severity: "warning", Summary: "bare"},
			})
		},
		"detached": func(s *Streams, m Mode) error {
			return WriteDetached(s, m, ColourNever, Detached{
				Jobs: []DetachedJob{{"web", "/run/web"}, {"\x1bdb", ""}}, Version: "1.2.3", PID: 4711, Socket: "/s", DataDir: "/d", Log: "/d/log",
			})
		},
		"registered": func(s *Streams, m Mode) error {
			return WriteDetached(s, m, ColourNever, Detached{Jobs: []DetachedJob{{Job: "web"}}, Address: "http://c", Words: " --address http://c"})
		},
	}
	for _, c := range []struct {
		what     string
		mode     Mode
		columns  int
		out, err string
	}{
		{
			what: "actions", mode: Plain,
			out: "TASK                ACTION      COMMAND\n" +
				"web                 re\\x1bload  /bin/sh -c kill -HUP 1\n" +
				"a-task-with-a-name  dump\n",
		},
		{
			what: "actions", mode: Plain, columns: 30,
			out: "TASK      ACTION     COMMAND\n" +
				"web       re\\x…load  /bin…UP 1\n" +
				"a-t…name  dump\n",
		},
		{what: "actions", mode: Quiet, out: "web re\\x1bload\na-task-with-a-name dump\n"},
		{
			what: "actions", mode: JSON,
			out: `{"type":"action","time":"…","job":"j","group":"g","alloc":"j.g[0]","alloc_id":"1234","task":"web","target":"web","action":"re\u001bload","command":["/bin/sh","-c","kill -HUP \u001b[31m1"]}` + "\n" +
				`{"type":"action","time":"…","job":"j","group":"g","alloc":"j.g[0]","alloc_id":"1234","task":"a-task-with-a-name","target":"a-task-with-a-name","action":"dump","command":null}` + "\n",
		},
		{what: "orphans", mode: Plain, out: "JOB   PID   COMMAND\na, b  4711  /bin/x\\x1b\nc     7     sleep 1\n"},
		{what: "orphans", mode: Quiet, out: "4711\n7\n"},
		{
			what: "orphans", mode: JSON,
			out: `{"type":"orphan","time":"…","job":"a, b","pid":4711,"command":"/bin/x\u001b"}` + "\n" +
				`{"type":"orphan","time":"…","job":"c","pid":7,"command":"sleep 1"}` + "\n",
		},
		{what: "no orphans", mode: Plain},
		{
			what: "usage", mode: Plain,
			out: "JOB  TASK                ALLOC     CPU %  MHZ      MEMORY\n" +
				"j    web                 12345678   12.3  400     1.5 MiB\n" +
				"j    a-task-with-a-name  12345678    0.0    0  1024.0 MiB\n",
		},
		{
			what: "usage", mode: Quiet, columns: 50,
			out: "JOB  TASK         ALLOC     CPU %  MHZ      MEMORY\n" +
				"j    web          12345678   12.3  400     1.5 MiB\n" +
				"j    a-tas…-name  12345678    0.0    0  1024.0 MiB\n",
		},
		{
			what: "usage", mode: JSON,
			out: `{"type":"stats","time":"…","job":"j","group":"g","alloc":"j.g[0]","alloc_id":"12345678-9","task":"web","cpu_percent":12.34,"cpu_mhz":400.9,"memory_bytes":1572864,"target":"web"}` + "\n" +
				`{"type":"stats","time":"…","job":"j","group":"g","alloc":"j.g[0]","alloc_id":"12345678-9","task":"a-task-with-a-name","cpu_percent":0,"cpu_mhz":0,"memory_bytes":1073741824,"target":"a-task-with-a-name"}` + "\n",
		},
		{what: "dispatched", mode: Plain, out: "j/dispatch-\\x1b\n"},
		{what: "dispatched", mode: Quiet, out: "j/dispatch-\\x1b\n"},
		{what: "dispatched", mode: JSON, out: `{"type":"dispatched","time":"…","job":"j","dispatched_job":"j/dispatch-\u001b"}` + "\n"},
		{what: "warnings", mode: Plain, err: "warning: j.hcl:3: odd\\x1b; very odd\nwarning: bare\n"},
		{what: "warnings", mode: Quiet},
		{
			what: "warnings", mode: JSON,
			out: `{"type":"diagnostic","time":"…","severity":"warning","summary":"odd\u001b","detail":"very\nodd","file":"j.hcl","line":3,"column":7}` + "\n" +
				`{"type":"diagnostic","time":"…","severity":"warning","summary":"bare","detail":"","file":"","line":0,"column":0}` + "\n",
		},
		{
			what: "detached", mode: Plain,
			err: "✓ job web runs in the background\n" +
				"  taskrun attach web         shows it\n" +
				"  taskrun logs -f --job web  follows its output\n" +
				"  taskrun stop web           stops it\n" +
				"✓ job \\x1bdb runs in the background\n" +
				"  taskrun attach \\x1bdb         shows it\n" +
				"  taskrun logs -f --job \\x1bdb  follows its output\n" +
				"  taskrun stop \\x1bdb           stops it\n",
		},
		{what: "detached", mode: Quiet},
		{
			what: "detached", mode: JSON,
			out: `{"type":"run","time":"…","job":"web","version":"1.2.3","pid":4711,"socket":"/s","data_dir":"/d","run_dir":"/run/web","log":"/d/log"}` + "\n" +
				`{"type":"run","time":"…","job":"\u001bdb","version":"1.2.3","pid":4711,"socket":"/s","data_dir":"/d","log":"/d/log"}` + "\n",
		},
		{
			what: "registered", mode: Plain,
			err: "✓ job web is registered in http://c\n" +
				"  taskrun attach --address http://c web         shows it\n" +
				"  taskrun logs --address http://c -f --job web  follows its output\n" +
				"  taskrun stop --address http://c web           stops it\n",
		},
	} {
		t.Run(c.what+" "+string(c.mode), func(t *testing.T) {
			t.Parallel()
			s, out, err := Test()
			if c.columns > 0 {
				s.OutTerm, s.width = true, func() int { return c.columns }
			}
			if err := write[c.what](s, c.mode); err != nil {
				t.Error(err)
			}
			written(t, out, c.out)
			written(t, err, c.err)
			s.Out = failingWriter{syscall.EPIPE}
			if err := write[c.what](s, c.mode); (c.out != "") != errors.Is(err, syscall.EPIPE) {
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
		deployment("running", "Deployment is running", 0, false), // nothing new
		deployment("running", "Deployment is running", 1, true),
		deployment("failed", "Failed\x1b", 1, true),
		deployment("cancelled", "Canceled", 1, true),
		deployment("successful", "Deployment completed successfully", 2, true),
	}
	for mode, want := range map[Mode]string{
		Plain: "○ version 3: Deployment is running; a: 0 of 3 healthy, 1 of 2 canaries placed; b: 0 of 2 healthy\n" +
			"○ version 3: Deployment is running; a: 0 of 3 healthy; b: 1 of 2 healthy\n" +
			"✗ version 3: Failed\\x1b\n" +
			"✗ version 3: Canceled\n" +
			"✓ version 3: Deployment completed successfully\n",
		Quiet: "",
	} {
		s, out, _ := Test()
		r := Rollout{Streams: s, Mode: mode, Colour: ColourNever}
		for _, d := range steps {
			if err := r.Show(d); err != nil {
				t.Error(err)
			}
		}
		written(t, out, want)
	}
	s, out, _ := Test()
	r := Rollout{Streams: s, Mode: JSON}
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

// A flag takes its values and refuses others with their names.
func TestFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flag interface {
			Set(string) error
			String() string
			Type() string
		}
		kind    string
		values  []string
		refusal string
	}{
		{new(Mode), "mode", []string{"plain", "json", "quiet"}, `"loud" is not one of plain, json, quiet`},
		{new(ColourMode), "when", []string{"auto", "always", "never"}, `"loud" is not one of auto, always, never`},
		{new(TimeFormat), "format", []string{"clock", "elapsed", "iso", "none"}, `"loud" is not one of clock, elapsed, iso, none`},
	} {
		for _, value := range c.values {
			if err := c.flag.Set(value); err != nil || c.flag.String() != value || c.flag.Type() != c.kind {
				t.Errorf("%s: %v, then %s of type %s", value, err, c.flag, c.flag.Type())
			}
		}
		last := c.flag.String()
		if err := c.flag.Set("loud"); err == nil || err.Error() != c.refusal || c.flag.String() != last {
			t.Errorf("%v, and the value is %s; want %s", err, c.flag, c.refusal)
		}
	}
}
