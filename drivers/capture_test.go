package drivers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"taskrun/drivers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// commands is a driver whose commands are functions.
type commands struct {
	drivers.Driver
	run func(ctx context.Context, o *drivers.ExecOptions) (*drivers.ExitResult, error)
}

func (c commands) ExecTaskStreaming(ctx context.Context, _ string, o *drivers.ExecOptions) (*drivers.ExitResult, error) {
	return c.run(ctx, o)
}

func TestCaptureKeepsTheLastBytes(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 1000, 4095, 4096, 4097, 10_000} {
		for _, piece := range []int{1, 1000, 4096, 5000} {
			all := ""
			for i := 0; len(all) < size; i++ {
				all += fmt.Sprintf("%d ", i)
			}
			all = all[:size]
			d := commands{run: func(_ context.Context, o *drivers.ExecOptions) (*drivers.ExitResult, error) {
				if input, err := io.ReadAll(o.Stdin); len(input) > 0 || err != nil {
					t.Errorf("the input is %q, %v", input, err)
				}
				for i := 0; i < len(all); i += piece {
					to := o.Stdout
					if i%2 == 1 {
						to = o.Stderr
					}
					_, _ = io.WriteString(to, all[i:min(i+piece, len(all))])
				}
				return &drivers.ExitResult{ExitCode: 3}, nil
			}}
			result, err := drivers.Capture(t.Context(), d, "id", []string{"x"})
			if err != nil {
				t.Fatal(err)
			}
			want := all[max(0, len(all)-4096):]
			if string(result.Output) != want || result.ExitCode != 3 || result.Err != nil {
				t.Errorf("of %d bytes in pieces of %d: %d bytes, %+v", size, piece, len(result.Output), result.ExitResult)
			}
		}
	}
}

func TestCaptureTimeout(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	d := commands{run: func(ctx context.Context, _ *drivers.ExecOptions) (*drivers.ExitResult, error) {
		<-ctx.Done()
		return &drivers.ExitResult{ExitCode: 137, Signal: 9}, nil
	}}
	result, err := drivers.Capture(ctx, d, "id", []string{"sleep"})
	if err != nil || result.ExitCode != 137 || !errors.Is(result.Err, context.DeadlineExceeded) {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestCaptureErrors(t *testing.T) {
	t.Parallel()
	broken := commands{run: func(context.Context, *drivers.ExecOptions) (*drivers.ExitResult, error) {
		return nil, drivers.ErrTaskNotFound
	}}
	nothing := struct{ drivers.Driver }{}
	for name, c := range map[string]struct {
		driver  drivers.Driver
		command []string
		want    string
	}{
		"no command": {broken, nil, "command is not present"},
		"no exec":    {nothing, []string{"x"}, "task driver does not support exec"},
		"no task":    {broken, []string{"x"}, "task not found for given id"},
	} {
		if _, err := drivers.Capture(t.Context(), c.driver, "id", c.command); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if drivers.CanCapture(nothing) || !drivers.CanCapture(broken) {
		t.Error("CanCapture is wrong")
	}
}
