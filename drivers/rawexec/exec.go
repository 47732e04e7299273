package rawexec

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/creack/pty"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/process"
)

// ExecTaskStreaming runs a command with the environment, directory and user of
// the task. A command that cannot be run ends with code 126 or 127 and says why
// on stderr. The end of the task ends the command, and with the command dies
// all that it started.
func (d *Driver) ExecTaskStreaming(ctx context.Context, id string, opts *drivers.ExecOptions) (*drivers.ExitResult, error) {
	t, err := d.runningTask(id)
	if err != nil {
		return nil, err
	}
	spec, code, err := t.command(opts.Command)
	if err != nil {
		return &drivers.ExitResult{ExitCode: code}, complain(opts, err)
	}
	ctx, cancel := t.whileItRuns(ctx)
	defer cancel()
	if opts.Tty {
		return d.execTerminal(ctx, spec, opts)
	}
	return d.execPipes(ctx, spec, opts)
}

// runningTask returns a task that has not ended.
func (d *Driver) runningTask(id string) (*task, error) {
	t, err := d.tasks.Get(id)
	if err != nil {
		return nil, err
	}
	if !t.running() {
		return nil, fmt.Errorf("task %q is not running", t.name)
	}
	return t, nil
}

// command returns how to start a command in the task, or why it cannot be and
// the exit code that shells have for that. A variable of its own tells what it
// starts from what the task starts, so that one can die without the other.
func (t *task) command(argv []string) (spec process.Spec, code int, err error) {
	spec = t.spec
	spec.Path, code, err = findCommand(argv[0], spec.Dir, spec.Env)
	spec.Args = argv[1:]
	spec.Env = append(slices.Clip(spec.Env), process.SessionVar+"="+rand.Text())
	return spec, code, err
}

// whileItRuns returns a context that also ends with the task.
func (t *task) whileItRuns(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-t.exit.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// complain tells whoever started a command why it does not run.
func complain(opts *drivers.ExecOptions, why error) error {
	to, end := opts.Stderr, "\n"
	if opts.Tty {
		to, end = opts.Stdout, "\r\n"
	}
	_, err := fmt.Fprintf(to, "taskrun: %v%s", why, end)
	return err
}

// execPipes runs a command without a terminal: stdout and stderr stay apart.
func (d *Driver) execPipes(ctx context.Context, spec process.Spec, opts *drivers.ExecOptions) (*drivers.ExitResult, error) {
	var ours, theirs []*os.File
	defer func() { closeFiles(ours...) }()
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeFiles(theirs...)
			return nil, fmt.Errorf("cannot make a pipe: %w", err)
		}
		if len(ours) == 0 { // stdin
			ours, theirs = append(ours, w), append(theirs, r)
		} else {
			ours, theirs = append(ours, r), append(theirs, w)
		}
	}
	spec.Stdin, spec.Stdout, spec.Stderr = theirs[0], theirs[1], theirs[2]
	p, err := d.run.Start(spec)
	closeFiles(theirs...)
	if err != nil {
		return cannotRun(opts, err)
	}
	go func() { // ends with opts.Stdin, or when nobody reads any more
		_, _ = io.Copy(ours[0], opts.Stdin)
		_ = ours[0].Close()
	}()
	var copying sync.WaitGroup
	var outErr, errErr error
	copying.Go(func() { _, outErr = io.Copy(opts.Stdout, ours[1]) })
	copying.Go(func() { _, errErr = io.Copy(opts.Stderr, ours[2]) })
	result := await(ctx, p)
	// Nothing of the command's tree lives, but the task may have got hold of
	// the pipes.
	for _, f := range ours[1:] {
		_ = f.SetReadDeadline(time.Now().Add(drain)) // pipes have deadlines
	}
	copying.Wait()
	return result, errors.Join(unlessLate(outErr), unlessLate(errErr))
}

// drain is how long what a command wrote before its end may take to arrive.
const drain = 200 * time.Millisecond

func unlessLate(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

// execTerminal runs a command in a terminal of its own.
func (d *Driver) execTerminal(ctx context.Context, spec process.Spec, opts *drivers.ExecOptions) (*drivers.ExitResult, error) {
	ptmx, tty, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("cannot open a terminal: %w", err)
	}
	defer closeFiles(ptmx)
	if spec.Credential != nil {
		if err := tty.Chown(int(spec.Credential.Uid), -1); err != nil {
			closeFiles(tty)
			return nil, fmt.Errorf("cannot give the terminal to user %d: %w", spec.Credential.Uid, err)
		}
	}
	spec.Stdin, spec.Stdout, spec.Stderr, spec.Terminal = tty, tty, tty, true
	p, err := d.run.Start(spec)
	closeFiles(tty)
	if err != nil {
		return cannotRun(opts, err)
	}
	go func() {
		_, err := io.Copy(ptmx, opts.Stdin)
		if err == nil {
			_, _ = ptmx.Write([]byte{4}) // what Ctrl-D sends: the end of the input
		}
	}()
	// It must be over before the terminal is closed.
	var sizing sync.WaitGroup
	sizing.Go(func() { follow(ctx, p.Done(), ptmx, opts.Resize) })
	defer sizing.Wait()
	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(opts.Stdout, ptmx)
		copied <- err
	}()
	result := await(ctx, p)
	select {
	case err = <-copied:
	case <-time.After(drain): // see execPipes
		closeFiles(ptmx)
		err = <-copied
	}
	if err != nil && !terminalClosed(err) {
		return nil, err
	}
	return result, nil
}

// follow sets the size of the terminal whenever the user's changes.
func follow(ctx context.Context, ended <-chan struct{}, ptmx *os.File, sizes <-chan api.TerminalSize) {
	for {
		select {
		case s := <-sizes:
			// A terminal that has no command any more needs no size.
			_ = pty.Setsize(ptmx, &pty.Winsize{Rows: uint16(s.Height), Cols: uint16(s.Width)})
		case <-ended:
			return
		case <-ctx.Done():
			return
		}
	}
}

// await waits for the end of a command and all that it started; when ctx ends
// it is killed.
func await(ctx context.Context, p *process.Process) *drivers.ExitResult {
	select {
	case <-p.Done():
	case <-ctx.Done():
		_ = p.Kill() // it ends, or the reaper gives it up
	}
	<-p.Gone()
	status, _ := p.Status()
	return &drivers.ExitResult{ExitCode: status.ExitCode, Signal: status.Signal, Err: status.Err}
}

// cannotRun is the result of a command that the system refused to start.
func cannotRun(opts *drivers.ExecOptions, err error) (*drivers.ExitResult, error) {
	code := codeNotExecutable
	if errors.Is(err, fs.ErrNotExist) {
		code = codeNotFound
	}
	return &drivers.ExitResult{ExitCode: code}, complain(opts, err)
}
