package rawexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"taskrun/drivers"
)

// ExecTask runs a command as ExecTaskStreaming does and keeps the last of what
// it writes, stdout and stderr in one, in the order of the writing. A command
// that cannot be run is an error.
func (d *Driver) ExecTask(ctx context.Context, id string, argv []string) (*drivers.ExecTaskResult, error) {
	if len(argv) == 0 {
		return nil, errors.New("cannot run a command in the task: it is empty")
	}
	t, err := d.runningTask(id)
	if err != nil {
		return nil, err
	}
	spec, _, err := t.command(argv)
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot make a pipe: %w", err)
	}
	defer closeFiles(r)
	ctx, cancel := t.whileItRuns(ctx)
	defer cancel()
	spec.Stdout, spec.Stderr = w, w
	p, err := d.run.Start(spec)
	closeFiles(w)
	if err != nil {
		return nil, err
	}
	var kept tail
	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(&kept, r)
		copied <- err
	}()
	result := await(ctx, p)
	_ = r.SetReadDeadline(time.Now().Add(drain)) // see execPipes
	if err := unlessLate(<-copied); err != nil {
		return nil, fmt.Errorf("cannot read what %q wrote: %w", argv[0], err)
	}
	return &drivers.ExecTaskResult{Stdout: kept, ExitResult: *result}, nil
}

// keptOutput is how much of a command's output is kept, in bytes, as in Nomad.
const keptOutput = 4096

// tail is the end of what was written.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	all := append(*t, p...)
	if extra := len(all) - keptOutput; extra > 0 {
		all = append((*t)[:0], all[extra:]...)
	}
	*t = all
	return len(p), nil
}
