package exit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"taskrun/cmd/verdict"
)

func TestCode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, verdict.OK},
		{Usage("wrong"), verdict.Usage},
		{Running("again"), verdict.Running},
		{Failed("bad"), verdict.Failed},
		{Silent(7), 7},
		{fmt.Errorf("in a run: %w", &Error{Code: 9, Err: context.Canceled}), 9},
		{fmt.Errorf("write: %w", syscall.EPIPE), verdict.Pipe},
		{fmt.Errorf("read: %w", context.Canceled), verdict.Interrupt},
		{io.EOF, verdict.Internal},
	} {
		if got := Code(tt.err); got != tt.want {
			t.Errorf("the code of %v is %d, want %d", tt.err, got, tt.want)
		}
	}
	if err := Silent(verdict.OK); err != nil {
		t.Errorf("silent success is %v", err)
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	for _, make := range []func(string, ...any) *Error{Usage, Running, Failed} {
		err := make("cannot read %q: %w", "x", fs.ErrNotExist).WithHint("try %q", "y")
		if err.Error() != `cannot read "x": file does not exist` || err.Hint != `try "y"` || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the error is %q, hint %q, %#v", err, err.Hint, err)
		}
	}
	if got := Silent(7).Error(); got != "exit code 7" {
		t.Errorf("a silent error is %q", got)
	}
	if got := (&SignalError{Signal: syscall.SIGTERM}).Error(); got != "stopped by terminated" {
		t.Errorf("a signal is %q", got)
	}
}

// A signal decides the exit code, whatever the error that it led to.
func TestStopped(t *testing.T) {
	t.Parallel()
	signaled, cancel := context.WithCancelCause(t.Context())
	sig := &SignalError{os.Interrupt, verdict.Interrupt}
	cancel(fmt.Errorf("in a command: %w", sig))
	if got := BySignal(signaled); got != sig {
		t.Errorf("the signal is %v", got)
	}
	err, ok := errors.AsType[*Error](Stopped(signaled, io.EOF))
	if !ok || err.Code != verdict.Interrupt || err.Err != nil {
		t.Errorf("stopped by a signal: %v", err)
	}
	canceled, cancelOther := context.WithCancel(t.Context())
	cancelOther()
	for _, ctx := range []context.Context{t.Context(), canceled} {
		if BySignal(ctx) != nil || !errors.Is(Stopped(ctx, io.EOF), io.EOF) {
			t.Errorf("without a signal: %v, %v", BySignal(ctx), Stopped(ctx, io.EOF))
		}
	}
}
