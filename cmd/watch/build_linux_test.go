package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"taskrun/jobspec/stub"
)

func TestBuild(t *testing.T) { // not parallel: processes of a program are found by their common mark
	b := NewBuilds(os.Environ())
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "make.sh"), []byte("#!/bin/sh\necho made in $(pwd)\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		command      []string
		output, fail string
	}{
		"it succeeds":              {[]string{"sh", "-c", "echo out; echo err >&2"}, "out\nerr", ""},
		"it fails":                 {[]string{"sh", "-c", "echo why; exit 3"}, "why", "exit code 3"},
		"it is killed":             {[]string{"sh", "-c", "kill -9 $$"}, "", "signal: killed"},
		"there is no such command": {[]string{"nonesuch-build"}, "", `there is no command "nonesuch-build" in PATH`},
		"a command of the project": {[]string{"./make.sh"}, "made in " + dir, ""},
		"it leaves a process":      {[]string{"sh", "-c", "sleep 1000 & echo done"}, "done", ""},
		"it floods":                {[]string{"sh", "-c", "yes | head -c 1000000; echo end"}, "… (the last 64 KiB)", ""},
	} {
		output, err := b.Build(t.Context(), dir, c.command)
		if !strings.HasPrefix(output, c.output) || len(output) > maxOutput+100 {
			t.Errorf("%s: output %.100q, want %q", name, output, c.output)
		}
		if err != nil && err.Error() != c.fail || err == nil && c.fail != "" {
			t.Errorf("%s: %v, want %q", name, err, c.fail)
		}
	}
	started := filepath.Join(dir, "started")
	ctx, cancel := context.WithCancel(t.Context())
	failure := make(chan error)
	go func() {
		_, err := b.Build(ctx, dir, []string{"sh", "-c", "trap '' INT TERM; sleep 1000 & echo > started; wait; sleep 1000"})
		failure <- err
	}()
	for deadline := time.Now().Add(20 * time.Second); ; <-time.After(time.Millisecond) {
		if _, err := os.Stat(started); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the build has not begun")
		}
	}
	cancel()
	if err := <-failure; !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted build returns %v", err)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := b.Build(t.Context(), dir, []string{"true"}); err == nil {
		t.Error("there is a build after the end")
	}
}

// A block builds first. Where that fails, the task stays as it was.
func TestBlocksBuild(t *testing.T) { // not parallel, see TestBuild
	b := NewBuilds(os.Environ())
	var said string
	s := &Blocks{Builds: b, Say: func(text string) { said = text }}
	for script, want := range map[string]string{
		"true":                   `^web: /x has changed, built in \S+$`,
		"echo why; echo; exit 3": `^web: /x has changed: the build has failed: exit code 3; the task stays as it was\nwhy$`,
		"exit 4":                 `^web: /x has changed: the build has failed: exit code 4; the task stays as it was$`,
	} {
		s.Unit(&stub.TaskWatch{Target: "web", Watch: stub.Watch{Dir: t.TempDir(), Build: []string{"sh", "-c", script}, Change: stub.ChangeNoop}}, "").Do(t.Context(), "/x")
		if !regexp.MustCompile(want).MatchString(said) {
			t.Errorf("%s: said %q, want %s", script, said, want)
		}
	}
	said = ""
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s.Unit(&stub.TaskWatch{Target: "web", Watch: stub.Watch{Dir: t.TempDir(), Build: []string{"sleep", "1000"}, Change: stub.ChangeNoop}}, "").Do(ended, "/x")
	if said != "" {
		t.Errorf("said %q of a build that another change has interrupted", said)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
