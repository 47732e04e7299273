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
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/process"
)

// ExecTaskStreaming runs a command with the environment, directory and user of
// the task. A command that cannot be run ends with code 126 or 127 and an error
// on stderr. The command ends with its task, and everything that it started
// ends with the command.
func (d *Driver) ExecTaskStreaming(ctx context.Context, id string, opts *drivers.ExecOptions) (*drivers.ExitResult, error) {
	t, err := d.tasks.Running(id)
	if err != nil {
		return nil, err
	}
	spec, code, err := t.command(opts.Command)
	if err != nil {
		return &drivers.ExitResult{ExitCode: code}, complain(opts, err)
	}
	ctx, cancel := t.Context(ctx)
	defer cancel()
	run := d.execPipes
	if opts.Tty {
		run = d.execTerminal
	}
	result, err := run(ctx, t, spec, opts)
	if err == nil && result.Signal == int(syscall.SIGKILL) && t.Ended() {
		return nil, fmt.Errorf("task %q has ended, and the command with it", t.Name)
	}
	return result, err
}

// command returns the spec of a command in the task or, if it cannot run, an
// error and the exit code of a shell in that case. An extra variable
// distinguishes its processes from those of the task, so that either can be
// killed alone.
func (t *task) command(argv []string) (spec process.Spec, code int, err error) {
	spec = t.spec
	spec.Env = t.environ()
	spec.Path, code, err = findCommand(argv[0], spec.Dir, spec.Env)
	spec.Args = argv[1:]
	spec.Env = append(spec.Env, process.SessionVar+"="+rand.Text())
	return spec, code, err
}

// complain writes the reason why a command does not run to its stderr or its
// terminal.
func complain(opts *drivers.ExecOptions, why error) error {
	to, end := opts.Stderr, "\n"
	if opts.Tty {
		to, end = opts.Stdout, "\r\n"
	}
	_, err := fmt.Fprintf(to, "taskrun: %v%s", why, end)
	return err
}

// execPipes runs a command without a terminal. If stdout and stderr are the
// same writer, it gets both in the order of the writes.
func (d *Driver) execPipes(ctx context.Context, t *task, spec process.Spec, opts *drivers.ExecOptions) (*drivers.ExitResult, error) {
	var stdin, stdout, stderr pipe
	defer func() { closeFiles(stdin.w, stdout.r, stderr.r) }()
	err := errors.Join(stdin.open(), stdout.open())
	if opts.Stderr == opts.Stdout {
		spec.Stderr = stdout.w
	} else {
		err = errors.Join(err, stderr.open())
		spec.Stderr = stderr.w
	}
	var p *process.Process
	if err == nil {
		spec.Stdin, spec.Stdout = stdin.r, stdout.w
		p, err = d.startCommand(t, spec)
	}
	closeFiles(stdin.r, stdout.w, stderr.w)
	if err != nil {
		return cannotRun(opts, err)
	}
	go func() { // ends with opts.Stdin or the command
		_, _ = io.Copy(stdin.w, opts.Stdin)
		_ = stdin.w.Close()
	}()
	var copying sync.WaitGroup
	var outErr, errErr error
	copying.Go(func() { outErr = copyPipe(opts.Stdout, stdout.r) })
	if stderr.r != nil {
		copying.Go(func() { errErr = copyPipe(opts.Stderr, stderr.r) })
	}
	result := t.awaitCommand(ctx, p)
	// The command's tree is dead, but the task may have opened the pipes.
	for _, f := range []*os.File{stdout.r, stderr.r} {
		if f != nil {
			_ = f.SetReadDeadline(time.Now().Add(drain)) // pipes support deadlines
		}
	}
	copying.Wait()
	return result, errors.Join(outErr, errErr)
}

// pipe is a pipe that may not be open.
type pipe struct{ r, w *os.File }

func (p *pipe) open() (err error) {
	if p.r, p.w, err = os.Pipe(); err != nil {
		return fmt.Errorf("cannot make a pipe: %w", err)
	}
	return nil
}

// drain limits how long the last output of a command may take to arrive.
const drain = 200 * time.Millisecond

// pipeSize is the capacity of a pipe, in bytes.
const pipeSize = 64 << 10

// copyPipe copies the output of a command to w until no process has the pipe open
// for writing, or until its deadline. If w is slow, the pipe can still be full
// then; copyPipe copies that, too.
func copyPipe(w io.Writer, pipe *os.File) error {
	_, err := io.Copy(w, pipe)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	rest := make([]byte, pipeSize)
	_ = pipe.SetReadDeadline(time.Now().Add(drain))
	n, _ := io.ReadFull(pipe, rest) // not more than is there now
	if n == 0 {
		return nil
	}
	_, err = w.Write(rest[:n])
	return err
}

// execTerminal runs a command in its own terminal.
func (d *Driver) execTerminal(ctx context.Context, t *task, spec process.Spec, opts *drivers.ExecOptions) (*drivers.ExitResult, error) {
	ptmx, tty, err := openTerminal()
	if err != nil {
		return nil, err
	}
	defer closeFiles(ptmx)
	if spec.Credential != nil {
		if err := tty.Chown(int(spec.Credential.Uid), -1); err != nil {
			closeFiles(tty)
			return nil, fmt.Errorf("cannot give the terminal to user %d: %w", spec.Credential.Uid, err)
		}
	}
	if opts.Term != "" {
		spec.Env = append(slices.DeleteFunc(spec.Env, func(kv string) bool { return strings.HasPrefix(kv, "TERM=") }), "TERM="+opts.Term)
	}
	if size := opts.FirstSize(ctx); size != nil {
		setSize(ptmx, *size)
	}
	spec.Stdin, spec.Stdout, spec.Stderr, spec.Terminal = tty, tty, tty, true
	p, err := d.startCommand(t, spec)
	closeFiles(tty)
	if err != nil {
		return cannotRun(opts, err)
	}
	go func() {
		_, err := io.Copy(ptmx, opts.Stdin)
		if err == nil {
			_, _ = ptmx.Write([]byte{4}) // Ctrl-D: the end of the input
		}
	}()
	// Resizing must end before the terminal is closed.
	var sizing sync.WaitGroup
	sizing.Go(func() { follow(ctx, p.Done(), ptmx, opts.Resize) })
	defer sizing.Wait()
	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(opts.Stdout, ptmx)
		copied <- err
	}()
	result := t.awaitCommand(ctx, p)
	select {
	case err = <-copied:
	case <-time.After(drain): // see execPipes
		closeFiles(ptmx)
		err = <-copied
	}
	// Linux returns EIO, not EOF, when no process has the other side open.
	if err != nil && !errors.Is(err, syscall.EIO) && !errors.Is(err, fs.ErrClosed) {
		return nil, err
	}
	return result, nil
}

// follow sets the size of the terminal whenever the user's changes.
func follow(ctx context.Context, ended <-chan struct{}, ptmx *os.File, sizes <-chan api.TerminalSize) {
	for {
		select {
		case s := <-sizes:
			setSize(ptmx, s)
		case <-ended:
			return
		case <-ctx.Done():
			return
		}
	}
}

// startCommand starts a command in the task and its cgroups. The caller must
// call awaitCommand.
func (d *Driver) startCommand(t *task, spec process.Spec) (*process.Process, error) {
	p, err := t.place(d.run, spec)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.commands[p] = true
	return p, nil
}

// awaitCommand waits for the end of a command and everything that it started.
// When ctx ends, it kills them.
func (t *task) awaitCommand(ctx context.Context, p *process.Process) *drivers.ExitResult {
	select {
	case <-p.Done():
	case <-ctx.Done():
		_ = p.Kill() // the wait below ends even if this fails
	}
	<-p.Gone()
	t.mu.Lock()
	delete(t.commands, p)
	t.mu.Unlock()
	status, _ := p.Status()
	return &drivers.ExitResult{ExitCode: status.ExitCode, Signal: status.Signal, Err: status.Err}
}

// cannotRun returns the result of a command that the system refused to start.
func cannotRun(opts *drivers.ExecOptions, err error) (*drivers.ExitResult, error) {
	code := codeNotExecutable
	if errors.Is(err, fs.ErrNotExist) {
		code = codeNotFound
	}
	return &drivers.ExitResult{ExitCode: code}, complain(opts, err)
}
