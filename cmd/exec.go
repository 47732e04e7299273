package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"taskrun/cmd/client"
	"taskrun/cmd/exit"
	"taskrun/cmd/garbage"
	"taskrun/cmd/lookup"
	"taskrun/cmd/ui"
	"taskrun/cmd/verdict"
)

type execOptions struct {
	lookup.Connection
	task   string
	index  int // of the allocation; negative: any
	stdin  auto
	tty    auto
	escape escapeChar
}

func newExecCommand(a *app) *cobra.Command {
	opts := execOptions{escape: '~'}
	cmd := &cobra.Command{
		Use:   "exec [-i] [-t] TARGET [--] COMMAND [ARG...]",
		Short: "Run a command in a running task",
		Long: `Run a command in a running task, with the environment, directory and user of the
task. When taskrun exec ends, the command is killed.

` + lookup.TargetHelp + `
With --job, TARGET may be left out if exactly one task of the job is running.

If stdin and stdout are terminals, the command gets a terminal too: keys such as
Ctrl-C and Ctrl-Z go to the command. At the beginning of a line,

  ~.   ends the session
  ~~   types one ~

Exit codes:
  that of the command; 128+n if signal n ended it
  126  the command cannot be executed
  127  there is no such command
  125  there is no such task, or taskrun itself failed
  2    the call is wrong
  129, 130, 143  ended by SIGHUP, by SIGINT or ~., by SIGTERM
  141  stdout was closed`,
		Example: `  taskrun exec web -- sh
  taskrun exec 'app[1]/web' -- tail -n 100 local/access.log
  taskrun exec --index 1 web -- tail -n 100 local/access.log
  taskrun exec -job shop -task db -- psql < dump.sql`,
		ValidArgsFunction: completeExec(a, &opts),
		RunE:              func(cmd *cobra.Command, args []string) error { return runExec(cmd.Context(), a, args, opts) },
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false) // words after TARGET belong to the command
	opts.bindSession(flags)
	completeFilters(a, cmd, &opts.Connection)
	return cmd
}

// bindSession adds the flags of commands that open a session in a task.
func (o *execOptions) bindSession(flags *pflag.FlagSet) {
	o.Bind(flags)
	flags.StringVar(&o.task, "task", "", "run it in this `task` of TARGET")
	flags.IntVar(&o.index, "index", -1, "run it in the allocation with this `index`, as in 'GROUP[INDEX]'; negative: any")
	flags.VarP(&o.stdin, "interactive", "i", "pass stdin to the command; otherwise its stdin is empty (default: yes)")
	flags.VarP(&o.tty, "tty", "t", "give the command a terminal (default: if stdin and stdout are terminals)")
	flags.Lookup("interactive").NoOptDefVal = "true"
	flags.Lookup("tty").NoOptDefVal = "true"
	flags.VarP(&o.escape, "escape", "e", "`character` that begins escape sequences, or none")
}

// completeExec completes TARGET, and leaves the words after it to the shell.
func completeExec(a *app, opts *execOptions) cobra.CompletionFunc {
	targets := completeTargets(a, &opts.Connection)
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 || opts.Job != "" {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return targets(cmd, args, prefix)
	}
}

func runExec(ctx context.Context, a *app, args []string, opts execOptions) error {
	garbage.CollectRarely()
	target, command, err := opts.parse(args)
	if err != nil {
		return err
	}
	task, err := pickTask(ctx, a, target, opts)
	if err != nil {
		return err
	}
	return newSession(a, task, opts, client.Session{Command: command}).run(ctx)
}

func newSession(a *app, task *client.Task, opts execOptions, what client.Session) *execSession {
	return &execSession{
		a: a, task: task, what: what, escape: byte(opts.escape),
		tty: opts.tty.or(a.Streams.InTerm && a.Streams.OutTerm), stdin: opts.stdin.or(true),
	}
}

// parse splits the arguments into the target and the command.
func (o *execOptions) parse(args []string) (target string, command []string, err error) {
	switch {
	case o.Job != "": // no TARGET
	case len(args) == 0 || args[0] == "--":
		return "", nil, exit.Usage("cannot run a command: TARGET is missing").WithHint("for example: taskrun exec web -- sh; taskrun ps lists the tasks")
	default:
		target, args = args[0], args[1:]
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		name := cmp.Or(target, "--job "+o.Job)
		return "", nil, exit.Usage("cannot run a command in %q: the command is missing", target+o.Job).WithHint("for example: taskrun exec %s -- sh", name)
	}
	return target, args, nil
}

// pickTask finds the task in which to run the command.
func pickTask(ctx context.Context, a *app, target string, opts execOptions) (*client.Task, error) {
	servers, tasks, err := a.runs.Tasks(ctx, opts.Connection)
	if err != nil {
		return nil, err
	}
	if len(servers) == 0 {
		return nil, lookup.NoRun(verdict.Internal, opts.DataDir)
	}
	// Each step narrows what TARGET may match.
	found := opts.indexed(tasks)
	target = cmp.Or(target, opts.Job)
	if opts.task != "" {
		if found, err = client.Find(found, target); err != nil {
			return nil, opts.targetError(err, tasks, verdict.Internal)
		}
		target = opts.task
	}
	task, err := client.Pick(found, target)
	if err != nil {
		return nil, opts.targetError(err, tasks, verdict.Internal)
	}
	return task, nil
}

// indexed returns the tasks of the allocations with the index that was given, or
// all.
func (o *execOptions) indexed(tasks []*client.Task) []*client.Task {
	if o.index < 0 {
		return tasks
	}
	return slices.DeleteFunc(slices.Clone(tasks), func(t *client.Task) bool { return t.Index != o.index })
}

// targetError is like lookup.TargetError, and mentions the given index.
func (o *execOptions) targetError(err error, tasks []*client.Task, code int) error {
	if _, unknown := errors.AsType[*client.UnknownError](err); unknown && o.index >= 0 {
		err = fmt.Errorf("%w in an allocation with index %d", err, o.index)
	}
	return lookup.TargetError(err, tasks, code)
}

// execSession is a command in a task, connected to the user's streams.
type execSession struct {
	a          *app
	task       *client.Task
	what       client.Session // without streams
	tty, stdin bool
	escape     byte

	terminal *ui.Terminal
	modes    ui.Modes
}

// errDisconnected ends a session when the user leaves it.
var errDisconnected = errors.New("disconnected")

// run runs the command and returns its exit code as a silent error.
func (s *execSession) run(ctx context.Context) error {
	ctx, stop := s.a.Stoppable(ctx)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	streams := s.a.Streams
	session := s.what
	session.Tty, session.Term = s.tty, streams.Env("TERM")
	session.Stdin = strings.NewReader("")
	session.Stdout, session.Stderr = &sessionWriter{s, streams.Out, cancel}, &sessionWriter{s, streams.Err, cancel}
	if s.stdin {
		session.Stdin = &sessionReader{s, streams.In}
	}
	release := func() {}
	if s.tty {
		if s.terminal = streams.NewTerminal(); s.terminal != nil {
			var err error
			if release, err = s.terminal.Take(); err != nil {
				return err
			}
			defer release()
			session.Sizes = s.terminal.Sizes()
			if s.stdin {
				session.Stdin = &client.Keys{Reader: session.Stdin, Escape: s.escape, Leave: func() { cancel(errDisconnected) }}
			}
		}
	}
	code, err := s.task.Exec(ctx, session)
	if err != nil && s.terminal != nil && streams.OutTerm {
		_, _ = io.WriteString(streams.Out, s.modes.Undo()) // the command can no longer do it
	}
	release()
	return s.result(code, err)
}

// result returns the error with the exit code of the session.
func (s *execSession) result(code int, err error) error {
	sig, signaled := errors.AsType[*exit.SignalError](err)
	switch {
	case err == nil:
		return exit.Silent(code)
	case signaled:
		return exit.Silent(sig.Code)
	case errors.Is(err, errDisconnected):
		fmt.Fprintln(s.a.Streams.Err, "disconnected")
		return exit.Silent(verdict.Interrupt)
	case errors.Is(err, syscall.EPIPE):
		return err
	}
	return &exit.Error{Code: verdict.Internal, Err: err}
}

// sessionReader reads the user's input.
type sessionReader struct {
	s *execSession
	io.Reader
}

func (r *sessionReader) Read(p []byte) (int, error) {
	defer r.s.terminal.Recover()
	return r.Reader.Read(p)
}

// sessionWriter writes output of the command. A failed write ends the session,
// which Nomad's client would not notice.
type sessionWriter struct {
	s *execSession
	io.Writer
	cancel context.CancelCauseFunc
}

func (w *sessionWriter) Write(p []byte) (int, error) {
	defer w.s.terminal.Recover()
	if w.s.terminal != nil {
		w.s.modes.Write(p)
	}
	n, err := w.Writer.Write(p)
	if err != nil {
		w.cancel(fmt.Errorf("cannot write the command's output: %w", err))
	}
	return n, err
}
