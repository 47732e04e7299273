package cmd

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"taskrun/cmd/client"
	"taskrun/cmd/ui"
	"taskrun/cmd/verdict"
)

// The exit codes of a run are those of every command.
const (
	exitOK        = verdict.OK
	exitFailed    = verdict.Failed
	exitUsage     = verdict.Usage
	exitTimeout   = verdict.Timeout
	exitInternal  = verdict.Internal
	exitHangup    = verdict.Hangup
	exitInterrupt = verdict.Interrupt
	exitPipe      = verdict.Pipe
	exitTerminate = verdict.Terminate
)

// exitError is an error that decides the exit code.
type exitError struct {
	code int
	err  error  // nil when the user was told already
	hint string // what to do about it; may be empty
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageError says that the call is wrong.
func usageError(format string, args ...any) *exitError {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// withHint adds a line that says what to do.
func (e *exitError) withHint(format string, args ...any) *exitError {
	e.hint = fmt.Sprintf(format, args...)
	return e
}

// silent ends the command with a code, without another word.
func silent(code int) error {
	if code == exitOK {
		return nil
	}
	return &exitError{code: code}
}

// exitCode is the code that err leads to. An error without one is taskrun's
// own failure, but for a closed stdout, which is the reader's decision.
func exitCode(err error) int {
	var exit *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return exit.code
	case errors.Is(err, syscall.EPIPE):
		return exitPipe
	case errors.Is(err, context.Canceled):
		return exitInterrupt
	}
	return exitInternal
}

// printError tells the user of err: the only place where errors are printed.
func (a *app) printError(err error) {
	var exit *exitError
	if err == nil || errors.Is(err, syscall.EPIPE) || errors.As(err, &exit) && exit.err == nil {
		return
	}
	hint := client.Remedy(err)
	if exit != nil && exit.hint != "" {
		hint = exit.hint
	}
	if a.jsonErrors {
		d := ui.Diagnostic{Severity: "error", Summary: err.Error(), Detail: hint}
		_ = ui.WriteDiagnostic(a.streams.Out, time.Now(), d) // there is no other place to tell
		return
	}
	a.report(a.streams.ErrStyle(a.color).Bad("taskrun:"), err.Error())
	if hint != "" {
		a.report("", hint)
	}
}

// report writes a message to stderr, behind a painted word.
func (a *app) report(word, text string) {
	line := a.streams.ErrStyle(a.color).Plain(text)
	if word != "" {
		line = word + " " + line
	}
	fmt.Fprintln(a.streams.Err, line)
}

// say tells the user something on stderr.
func (a *app) say(format string, args ...any) {
	fmt.Fprintf(a.streams.Err, "%s\n", a.streams.ErrStyle(a.color).Note("▸ "+fmt.Sprintf(format, args...)))
}

// warn tells of what does not keep the command from doing its work.
func (a *app) warn(err error) {
	a.report(a.streams.ErrStyle(a.color).Waiting("warning:"), err.Error())
}
