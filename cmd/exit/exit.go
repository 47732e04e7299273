// Package exit has the errors of commands: each has an exit code, and may have a
// remedy.
package exit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"taskrun/cmd/verdict"
)

// Error is an error with an exit code.
type Error struct {
	Code int
	Err  error  // nil if it was already reported
	Hint string // the remedy; may be empty
}

// Error returns the text of the error.
func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

// Unwrap returns the error without its code.
func (e *Error) Unwrap() error { return e.Err }

// WithHint adds a line with the remedy.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// Usage returns the error for a wrong call.
func Usage(format string, args ...any) *Error {
	return &Error{Code: verdict.Usage, Err: fmt.Errorf(format, args...)}
}

// Running returns the error of a command that would start what runs already.
func Running(format string, args ...any) *Error {
	return &Error{Code: verdict.Running, Err: fmt.Errorf(format, args...)}
}

// Failed returns the error of a command that was called correctly but did not
// succeed.
func Failed(format string, args ...any) *Error {
	return &Error{Code: verdict.Failed, Err: fmt.Errorf(format, args...)}
}

// Silent returns an error that sets the exit code and prints nothing.
func Silent(code int) error {
	if code == verdict.OK {
		return nil
	}
	return &Error{Code: code}
}

// Code returns the exit code for err. An error without a code is taskrun's
// own failure, except a closed stdout, which the reader chose.
func Code(err error) int {
	known, ok := errors.AsType[*Error](err)
	switch {
	case err == nil:
		return verdict.OK
	case ok:
		return known.Code
	case errors.Is(err, syscall.EPIPE):
		return verdict.Pipe
	case errors.Is(err, context.Canceled):
		return verdict.Interrupt
	}
	return verdict.Internal
}

// SignalError is the signal that ends a command.
type SignalError struct {
	os.Signal
	Code int
}

// Error names the signal.
func (e *SignalError) Error() string { return "stopped by " + e.String() }

// BySignal returns the signal that ended a context, or nil.
func BySignal(ctx context.Context) *SignalError {
	sig, _ := errors.AsType[*SignalError](context.Cause(ctx))
	return sig
}

// Stopped returns the error of a command that a signal may have stopped.
func Stopped(ctx context.Context, err error) error {
	if sig := BySignal(ctx); sig != nil {
		return Silent(sig.Code)
	}
	return err
}

// ReadOnly adds a hint to an error of a data directory that cannot be written to.
func ReadOnly(err error, dataDir string) error {
	at, ok := errors.AsType[*fs.PathError](err)
	if !ok || !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) || !within(at.Path, dataDir) && !within(dataDir, at.Path) {
		return err
	}
	return (&Error{Code: Code(err), Err: err}).WithHint("choose a directory that you can write to with --data-dir or TASKRUN_DATA_DIR")
}

// within reports whether a path is a directory or lies in it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}
