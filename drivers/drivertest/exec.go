package drivertest

import (
	"context"
	"errors"
	"strings"
	"time"

	"taskrun/drivers"
)

// commands starts a task in which a command can be run, and returns its argv.
func (f *fixture) commands(c Command) (task, []string) {
	f.Helper()
	if f.h.Command == nil || !drivers.CanCapture(f.d) {
		f.Skip("the driver or its harness runs no commands")
	}
	t := f.start(Script{Stdout: "ready", Forever: true, Command: &c})
	f.await(t.output, "ready")
	return t, f.h.Command(c)
}

func testExec(f *fixture) {
	t, argv := f.commands(Command{Stdout: "to stdout\n", Stderr: "to stderr\n", ExitCode: 43})
	// The input of a command that does not read it may stay open.
	stdout, stderr, result, err := f.end(f.begin(f.ctx, t.ID, argv, false))
	if stdout != "to stdout\n" || stderr != "to stderr\n" || result == nil || result.ExitCode != 43 || err != nil {
		f.Errorf("it said %q and %q, %+v, %v", stdout, stderr, result, err)
	}
	f.mustRun(t)
}

func testExecStdin(f *fixture) {
	t, argv := f.commands(Command{Echo: true})
	s := f.begin(f.ctx, t.ID, argv, false)
	s.types("one ")
	s.types("two\n")
	s.closeStdin()
	stdout, _, result, err := f.end(s)
	if !strings.Contains(stdout, "TTY: false") || !strings.Contains(stdout, "one two\n") || result == nil || result.ExitCode != 0 || err != nil {
		f.Errorf("it said %q, %+v, %v", stdout, result, err)
	}
}

func testExecTerminal(f *fixture) {
	t, argv := f.commands(Command{Echo: true})
	s := f.begin(f.ctx, t.ID, argv, true)
	s.types("one two\n")
	s.closeStdin()
	stdout, stderr, result, err := f.end(s)
	if !strings.Contains(stdout, "TTY: true") || !strings.Contains(stdout, "one two") || stderr != "" || result == nil || result.ExitCode != 0 || err != nil {
		f.Errorf("it said %q and %q, %+v, %v", stdout, stderr, result, err)
	}
}

func testExecSize(f *fixture) {
	t, _ := f.commands(Command{})
	if f.h.Size == nil {
		f.Skip("the driver has no real terminals")
	}
	s := f.begin(f.ctx, t.ID, f.h.Size, true)
	await := func(size string, again func()) {
		f.Helper()
		for {
			s.output.mu.Lock()
			said, change := s.output.texts[0].String(), s.output.change
			s.output.mu.Unlock()
			if strings.Contains(said, size+"\r\n") {
				return
			}
			again()
			select {
			case <-change: // the terminal echoes the input
			case <-f.ctx.Done():
				f.Fatalf("%q lacks the size %s", said, size)
			}
		}
	}
	line := func() { s.types("\n") }
	first := func() {}
	if f.h.LateSize {
		first = line
	}
	line()
	await("24 80", first)
	s.resize(10, 20)
	s.resize(33, 99)
	await("33 99", line) // may arrive after a line
	s.leave()
	_, _, _, _ = f.end(s)
}

func testExecDisconnect(f *fixture) {
	for _, tty := range []bool{false, true} {
		t, argv := f.commands(Command{Stdout: "begun", Forever: true})
		s := f.begin(f.ctx, t.ID, argv, tty)
		f.await(s.output, "begun")
		s.leave()
		if _, _, result, err := f.end(s); err == nil || result != nil {
			f.Errorf("with tty %v it ended with %+v, %v", tty, result, err)
		}
		f.mustRun(t)
	}
}

func testExecCanceled(f *fixture) {
	t, argv := f.commands(Command{Stdout: "begun", Forever: true})
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	s := f.begin(ctx, t.ID, argv, false)
	f.await(s.output, "begun")
	cancel()
	if _, _, result, err := f.end(s); !errors.Is(err, context.Canceled) || result != nil {
		f.Errorf("it ended with %+v, %v", result, err)
	}
	f.mustRun(t)
}

// The end of the task ends what runs in it.
func testExecTaskEnds(f *fixture) {
	for _, tty := range []bool{false, true} {
		t, argv := f.commands(Command{Stdout: "begun", Forever: true})
		s := f.begin(f.ctx, t.ID, argv, tty)
		f.await(s.output, "begun")
		f.must(f.d.StopTask(f.ctx, t.ID, 0, ""))
		if _, _, result, err := f.end(s); err == nil && (result == nil || result.ExitCode == 0) {
			f.Errorf("with tty %v it ended well: %+v", tty, result)
		}
		if _, err := drivers.ExecTask(f.ctx, f.d, t.ID, f.deaf(argv, tty)); err == nil {
			f.Error("a command ran in a task that had ended")
		}
	}
}

func testCapture(f *fixture) {
	all := strings.Repeat("x", 3000) + strings.Repeat("y", 3000)
	t, argv := f.commands(Command{Stdout: all, ExitCode: 3})
	result, err := drivers.Capture(f.ctx, f.d, t.ID, argv)
	f.must(err)
	want, code := all[len(all)-drivers.Captured:], 3
	if f.h.Captured != nil {
		want, code = f.h.Captured(argv), 0
	}
	if string(result.Output) != want || result.ExitCode != code || result.Err != nil {
		f.Errorf("it kept %q, %+v", result.Output, result.ExitResult)
	}
	if _, err := drivers.Capture(f.ctx, f.d, t.ID, nil); err == nil {
		f.Error("no command at all was run")
	}
}

func testCaptureTimeout(f *fixture) {
	t, argv := f.commands(Command{Stdout: "begun", Forever: true})
	if f.h.Captured != nil {
		f.Skip("the driver runs nothing")
	}
	ctx, cancel := context.WithTimeout(f.ctx, 50*time.Millisecond)
	defer cancel()
	result, err := drivers.Capture(ctx, f.d, t.ID, argv)
	if err != nil || result.ExitCode == 0 || result.Successful() {
		f.Errorf("the result is %+v, %v", result, err)
	}
	f.mustRun(t)
}
