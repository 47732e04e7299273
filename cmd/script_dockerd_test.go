package cmd

import (
	"regexp"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"taskrun/drivers/docker/dockertest"
)

// daemons are the Docker engines of scripts, one for each. The script command is
//
//	dockerd start [ARGUMENT...]   start one at $DOCKER_HOST
//	dockerd stop|kill
//	dockerd remove                remove all containers
//	dockerd empty                 check that it has no container
type daemons struct {
	mu   sync.Mutex
	made map[string]*dockertest.Daemon // by the script's directory
}

func (ds *daemons) command(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: dockerd start [ARGUMENT...]|stop|kill|remove|empty")
	}
	ds.mu.Lock()
	d := ds.made[ts.MkAbs(".")]
	ds.mu.Unlock()
	switch {
	case args[0] == "start" && d != nil:
		ts.Check(d.Start(args[1:]...))
	case args[0] == "start":
		d, err := dockertest.StartDaemon(args[1:]...)
		ts.Check(err)
		ts.Defer(func() {
			if err := d.Close(); err != nil {
				ts.Logf("%v", err)
			}
		})
		ts.Setenv("DOCKER_HOST", d.Host)
		ds.mu.Lock()
		defer ds.mu.Unlock()
		if ds.made == nil {
			ds.made = map[string]*dockertest.Daemon{}
		}
		ds.made[ts.MkAbs(".")] = d
	case d == nil:
		ts.Fatalf("there is no engine")
	case args[0] == "stop":
		ts.Check(d.Stop())
	case args[0] == "kill":
		ts.Check(d.Kill())
	case args[0] == "empty":
		left, err := d.Containers()
		ts.Check(err)
		if len(left) > 0 {
			ts.Fatalf("there are %q", left)
		}
	case args[0] == "remove":
		ts.Check(d.RemoveContainers())
	default:
		ts.Fatalf("unknown: dockerd %q", args)
	}
}

// untilMatches is the script command
//
//	until REGEXP COMMAND...   repeat a command until its output matches
func untilMatches(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until REGEXP COMMAND...")
	}
	want, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	for deadline := time.Now().Add(scriptTime); ; <-time.After(50 * time.Millisecond) {
		err := ts.Exec(args[1], args[2:]...)
		if err == nil && want.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("it never matched %q: %v", args[0], err)
		}
	}
}
