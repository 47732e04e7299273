package view

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
)

// shop is a job with a task of each kind.
func shop() *api.Job {
	return job("shop", 1,
		hooked("migrate", "prestart", false),
		hooked("logs", "prestart", true),
		task("web"),
		hooked("warm-up", "poststart", false),
		hooked("clean-up", "poststop", false))
}

// success plays a successful run of shop.
func success(s *stage) Result {
	a := alloc("shop", 0, "11111111")
	s.say(a, "", event.AllocStatus{Status: "pending", Description: "No tasks have started", Retry: -1})
	for _, t := range shop().TaskGroups[0].Tasks {
		s.happens(a, t.Name, event.Received())
	}
	s.after(2 * time.Millisecond)
	s.happens(a, "migrate", event.Setup("Building Task Directory"))
	s.running(a, "migrate", 0)
	s.running(a, "logs", 0)
	s.say(a, "", event.AllocStatus{Status: "running", Description: "Tasks are running", Retry: -1})
	s.after(100 * time.Millisecond)
	s.writes(a, "migrate", event.Stdout, "creating table users\ncreating table orders\n")
	s.writes(a, "logs", event.Stderr, "warming\twith a tab\n")
	s.after(300 * time.Millisecond)
	s.dies(a, "migrate", 0, 0, "")
	s.running(a, "web", 0)
	s.after(time.Millisecond)
	s.writes(a, "web", event.Stdout, "\x1b[33mlistening\x1b[0m on 127.0.0.1:8080\n")
	s.running(a, "warm-up", 0)
	s.after(10 * time.Millisecond)
	s.dies(a, "warm-up", 0, 0, "")
	s.after(90 * time.Second)
	s.writes(a, "web", event.Stdout, "no newline at the end")
	s.dies(a, "web", 0, 0, "")
	s.happens(a, "logs", event.MainTasksDead(), event.Killing(5*time.Second))
	s.dies(a, "logs", 130, 0, "")
	s.happens(a, "logs", event.Killed(nil))
	s.running(a, "clean-up", 0)
	s.after(20 * time.Millisecond)
	s.dies(a, "clean-up", 0, 0, "")
	s.say(a, "", event.AllocStatus{Status: "complete", Description: "All tasks have completed", Retry: -1})
	return Result{}
}

// failure plays a run of shop whose prestart task fails after a restart.
func failure(s *stage) Result {
	a := alloc("shop", 0, "22222222")
	for _, t := range shop().TaskGroups[0].Tasks {
		s.happens(a, t.Name, event.Received())
	}
	s.running(a, "logs", 0)
	s.running(a, "migrate", 0)
	s.after(50 * time.Millisecond)
	s.writes(a, "migrate", event.Stderr, "connecting to db.example.com:5432\n"+
		"FATAL: password authentication failed for user \"shop\", which is a long line that does not fit into the width of the screen\n")
	s.happens(a, "migrate", event.Terminated(1, 0, false, nil), event.Restarting(15*time.Second, "Restart within policy", true))
	s.say(a, "migrate", event.TaskState{State: "pending", Restarts: 1})
	s.after(15 * time.Second)
	s.running(a, "migrate", 1)
	s.writes(a, "migrate", event.Stderr, "connecting to db.example.com:5432\nstill no luck")
	s.dies(a, "migrate", 1, 1, `Exceeded allowed attempts 1 in interval 30m0s and mode is "fail"`)
	for _, name := range []string{"logs", "web", "warm-up"} {
		s.happens(a, name, event.SiblingFailed("migrate"), event.Killing(5*time.Second))
	}
	for _, name := range []string{"web", "warm-up"} {
		s.say(a, name, event.TaskState{State: "dead"})
	}
	s.say(a, "", event.AllocStatus{Status: "failed", Description: "Failed tasks", Retry: 5 * time.Second})
	s.dies(a, "logs", 130, 0, "")
	s.running(a, "clean-up", 0)
	s.dies(a, "clean-up", 0, 0, "")
	s.after(5 * time.Second)

	b := alloc("shop", 0, "33333333")
	s.say(b, "", event.AllocStatus{Status: "pending", Description: "No tasks have started", Replaces: a.ID, Retry: -1})
	s.happens(b, "migrate", event.Received(), event.DriverFailure(errNoCommand), event.NotRestarting("Error was unrecoverable"))
	s.say(b, "migrate", event.TaskState{State: "dead", Failed: true})
	s.say(b, "", event.AllocStatus{Status: "failed", Description: "Failed tasks", Replaces: a.ID, Retry: -1})
	for _, name := range []string{"logs", "web", "warm-up"} {
		s.say(b, name, event.TaskState{State: "dead"})
	}
	return Result{ExitCode: 1}
}

type textError string

func (e textError) Error() string { return string(e) }

const errNoCommand = textError("failed to launch command with executor: binary \"/usr/local/bin/migrate\" could not be found")

func TestViewsOfARun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		columns int
		opts    Options
		play    func(*stage) Result
	}{
		{"plain-80", 80, Options{}, success},
		{"plain-40", 40, Options{}, success},
		{"plain-color", 80, Options{Color: ui.ColorAuto}, success},
		{"plain-verbose", 80, Options{Verbose: true}, success},
		{"failure-verbose", 80, Options{Verbose: true}, failure},
		{"plain-pipe", 0, Options{}, success},
		{"plain-elapsed", 80, Options{Time: ui.TimeElapsed}, success},
		{"plain-iso", 80, Options{Time: ui.TimeISO}, success},
		{"plain-no-time", 80, Options{Time: ui.TimeNone}, success},
		{"failure-80", 80, Options{}, failure},
		{"failure-40", 40, Options{}, failure},
		{"failure-color", 80, Options{Color: ui.ColorAuto}, failure},
		{"quiet", 0, Options{Mode: ui.Quiet}, success},
		{"quiet-failure", 0, Options{Mode: ui.Quiet}, failure},
		{"json", 0, Options{Mode: ui.JSON, Version: "1.2.3", DataDir: "/data"}, success},
		{"json-failure", 0, Options{Mode: ui.JSON, Version: "1.2.3", DataDir: "/data"}, failure},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.opts.Jobs = []*api.Job{shop()}
			c.opts.Warnings = []ui.Diagnostic{{
				Severity: "warning", Summary: "this is\nodd", Detail: "and that too", File: "shop.nomad.hcl", Line: 7, Column: 3,
			}}
			s := newStage(t, c.columns, c.opts)
			s.ends(c.play(s))
			if s.screen != nil {
				golden(t, c.name, s.screen.Bytes())
				return
			}
			golden(t, c.name+".stdout", withoutPID(s.out.Bytes()))
			golden(t, c.name+".stderr", s.err.Bytes())
		})
	}
}

func withoutPID(out []byte) []byte {
	return bytes.ReplaceAll(out, fmt.Appendf(nil, `"pid":%d`, os.Getpid()), []byte(`"pid":1`))
}
