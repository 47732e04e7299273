package view

import (
	"errors"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
)

var now = regexp.MustCompile(`"time":"20[^"]*Z"`)

// The output of one task is copied unchanged into a pipe. Otherwise it is split
// into lines: with labels if there are several tasks, safe on a terminal,
// objects for programs.
func TestLogs(t *testing.T) {
	t.Parallel()
	a := alloc("j", 0, "11111111")
	one := []Label{{a.Name, "web", "web"}}
	two := append(one, Label{a.Name, "a-task-with-quite-a-long-name", "a-task-with-quite-a-long-name"})
	object := func(task, stream, line string) string {
		return `{"type":"log","time":"…","job":"j","group":"app","alloc":"j.app[0]","alloc_id":"` + a.ID +
			`","task":"` + task + `","stream":"` + stream + `",` + line + "}\n"
	}
	for _, c := range []struct {
		name    string
		mode    ui.Mode
		columns int
		tasks   []Label
		want    string
	}{
		{"one into a pipe", ui.Plain, 0, one, "x\x1b[2J\nhalfother\nerr"},
		{"one on a terminal", ui.Plain, 80, one, "x\nhalf\nother\nerr\n"},
		{
			"two into a pipe", ui.Plain, 0, two,
			"web                      │ x\x1b[2J\nweb                      │ half\n" +
				"a-task-with-quite-a-long-name │ other\n" + "web                      ┆ err\n",
		},
		{"two on a terminal", ui.Plain, 60, two, "web             │ x\nweb             │ half\na-task-…ng-name │ other\nweb             ┆ err\n"},
		{"two quietly", ui.Quiet, 0, two, "x\x1b[2J\nhalf\nother\nerr\n"},
		{
			"objects", ui.JSON, 0, two,
			object("web", "stdout", `"line":"x\u001b[2J"`) + object("web", "stdout", `"line":"half","partial":true`) +
				object("a-task-with-quite-a-long-name", "stdout", `"line":"other"`) + object("web", "stderr", `"line":"err","partial":true`),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, out, _ := ui.Test()
			if c.columns > 0 {
				s.OutTerm, s.Env = true, terminal(c.columns)
			}
			l := NewLogs(s, c.mode, ui.ColorNever, ui.TimeNone, ui.PrefixAuto, c.tasks)
			for _, do := range []func() error{
				func() error { return l.Write(time.Now(), a, "web", event.Stdout, []byte("x\x1b[2J\nhalf")) },
				func() error { return l.Ended(a, "web") },
				func() error {
					return l.Write(time.Now(), a, c.tasks[len(c.tasks)-1].Task, event.Stdout, []byte("other\n"))
				},
				func() error { return l.Write(time.Now(), a, "web", event.Stderr, []byte("err")) },
				l.Close,
			} {
				if err := do(); err != nil {
					t.Error(err)
				}
			}
			if diff := cmp.Diff(c.want, now.ReplaceAllString(out.String(), `"time":"…"`)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			s.Out = failingWriter{syscall.EPIPE}
			l = NewLogs(s, c.mode, ui.ColorNever, ui.TimeNone, ui.PrefixAuto, c.tasks)
			if err := l.Write(time.Now(), a, "web", event.Stdout, []byte("x\n")); !errors.Is(err, syscall.EPIPE) {
				t.Errorf("with stdout closed: %v", err)
			}
			if err := l.Close(); !errors.Is(err, syscall.EPIPE) {
				t.Errorf("then, at the end: %v", err)
			}
		})
	}
}

// With times each line stands behind when its end was read, also that of a single
// task into a pipe.
func TestLogsWithTimes(t *testing.T) {
	t.Parallel()
	a := alloc("j", 0, "11111111")
	one := []Label{{a.Name, "web", "web"}}
	two := append(one, Label{a.Name, "db", "db"})
	start := time.Date(2024, 2, 3, 4, 5, 6, 789e6, time.FixedZone("", 2*60*60))
	for name, tt := range map[string]struct {
		mode  ui.Mode
		tasks []Label
		want  string
	}{
		"one":     {ui.Plain, one, "2024-02-03T04:05:06.789+02:00 x\n2024-02-03T04:05:07.789+02:00 yz\n"},
		"two":     {ui.Plain, two, "2024-02-03T04:05:06.789+02:00 web │ x\n2024-02-03T04:05:07.789+02:00 web │ yz\n"},
		"quietly": {ui.Quiet, two, "2024-02-03T04:05:06.789+02:00 x\n2024-02-03T04:05:07.789+02:00 yz\n"},
		"objects": {ui.JSON, one, `"time":"2024-02-03T02:05:06.789Z" "line":"x"}` + "\n" + `"time":"2024-02-03T02:05:07.789Z" "line":"yz"}` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, out, _ := ui.Test()
			l := NewLogs(s, tt.mode, ui.ColorNever, ui.TimeISO, ui.PrefixAuto, tt.tasks)
			for i, text := range []string{"x\ny", "z\n"} {
				if err := l.Write(start.Add(time.Duration(i)*time.Second), a, "web", event.Stdout, []byte(text)); err != nil {
					t.Error(err)
				}
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			got := regexp.MustCompile(`.*("time":"[^"]*").*("line":.*)`).ReplaceAllString(out.String(), "$1 $2")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// An unfinished line appears on a terminal if nothing follows soon, and
// continues with the rest.
func TestLogsShowAPromptOnATerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := alloc("j", 0, "11111111")
		s, out, _ := ui.Test()
		s.OutTerm = true
		l := NewLogs(s, ui.Plain, ui.ColorNever, ui.TimeNone, ui.PrefixAuto, []Label{{a.Name, "web", "web"}})
		write := func(text string) {
			if err := l.Write(time.Now(), a, "web", event.Stdout, []byte(text)); err != nil {
				t.Error(err)
			}
		}
		wait := func(d time.Duration, want string) {
			t.Helper()
			<-time.After(d)
			synctest.Wait()
			l.mu.Lock()
			defer l.mu.Unlock()
			if got := out.String(); got != want {
				t.Errorf("shown %q, want %q", got, want)
			}
		}
		write("pass")
		wait(partTime-1, "")
		write("word: ")
		wait(partTime-1, "")
		wait(1, "password: ")
		write("ok")
		wait(partTime, "password: ok")
		write("\n" + strings.Repeat("x", 3) + "\n")
		wait(0, "password: ok\nxxx\n")
		if err := l.Close(); err != nil || out.String() != "password: ok\nxxx\n" {
			t.Errorf("%q, %v", out, err)
		}
	})
}
