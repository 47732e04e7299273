package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"taskrun/cmd/verdict"
)

// exitError is an error with an exit code.
type exitError struct {
	code int
	err  error  // nil if it was already reported
	hint string // the remedy; may be empty
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// withHint adds a line with the remedy.
func (e *exitError) withHint(format string, args ...any) *exitError {
	e.hint = fmt.Sprintf(format, args...)
	return e
}

// usageError returns the error for a wrong call.
func usageError(format string, args ...any) *exitError {
	return &exitError{code: verdict.Usage, err: fmt.Errorf(format, args...)}
}

// running returns the error of a command that would start what runs already.
func running(format string, args ...any) *exitError {
	return &exitError{code: verdict.Running, err: fmt.Errorf(format, args...)}
}

// failed returns the error of a command that was called correctly but did not
// succeed.
func failed(format string, args ...any) *exitError {
	return &exitError{code: verdict.Failed, err: fmt.Errorf(format, args...)}
}

// silent returns an error that sets the exit code and prints nothing.
func silent(code int) error {
	if code == verdict.OK {
		return nil
	}
	return &exitError{code: code}
}

// exitCode returns the exit code for err. An error without a code is taskrun's
// own failure, except a closed stdout, which the reader chose.
func exitCode(err error) int {
	exit, ok := errors.AsType[*exitError](err)
	switch {
	case err == nil:
		return verdict.OK
	case ok:
		return exit.code
	case errors.Is(err, syscall.EPIPE):
		return verdict.Pipe
	case errors.Is(err, context.Canceled):
		return verdict.Interrupt
	}
	return verdict.Internal
}

// signalError is the signal that ends a command.
type signalError struct {
	os.Signal
	code int
}

func (e *signalError) Error() string { return "stopped by " + e.String() }

// bySignal returns the signal that ended a context, or nil.
func bySignal(ctx context.Context) *signalError {
	sig, _ := errors.AsType[*signalError](context.Cause(ctx))
	return sig
}

// stopped returns the error of a command that a signal may have stopped.
func stopped(ctx context.Context, err error) error {
	if sig := bySignal(ctx); sig != nil {
		return silent(sig.code)
	}
	return err
}
