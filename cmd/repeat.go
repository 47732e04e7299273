package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"taskrun/cmd/console"
	"taskrun/cmd/exit"
	"taskrun/cmd/prose"
	"taskrun/cmd/repeat"
	"taskrun/cmd/report/compare"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
	"taskrun/cmd/verdict"
	"taskrun/drivers/process/keeper"
	"taskrun/jobspec/visible"
)

// ownFlags are flags of a repeated call that are not for its runs.
var ownFlags = []string{"repeat", "until-fail", "output", "verbose", "time", "color", "report", "junit"}

// maxStdin limits a job file that is read from stdin.
const maxStdin = 64 << 20

// checkRepeat refuses combinations of flags that cannot be repeated.
func (o *upOptions) checkRepeat() error {
	with := func(flag, why string) *exit.Error {
		return exit.Usage("--repeat and --until-fail cannot be combined with --%s: %s", flag, why)
	}
	switch {
	case o.detach:
		return with("detach", "each run has to end before the next one begins")
	case o.http != "":
		return with("http", "each run has its own token, which would not be shown").WithHint("talk to a run at its socket, which --output json names")
	case o.report.JUnit != "":
		return with("junit", "a report is about one run")
	case o.report.To != "" && o.report.To != "none":
		return with("report", "a report is about one run")
	case o.update || o.rehearse:
		return exit.Usage("--repeat and --until-fail are for runs of jobs").WithHint("leave out --update and --rehearse")
	}
	return nil
}

// upRepeatedly runs the jobs again and again, each time in a process of its own.
func upRepeatedly(ctx context.Context, a *app, args []string, opts upOptions) error {
	if err := opts.checkRepeat(); err != nil {
		return err
	}
	var stdin []byte
	if slices.Contains(args, "-") {
		text, err := io.ReadAll(io.LimitReader(a.Streams.In, maxStdin))
		if err != nil {
			return fmt.Errorf("cannot read the job file from stdin: %w", err)
		}
		stdin = text
		streams := *a.Streams
		streams.In = bytes.NewReader(text)
		a.Streams = &streams
	}
	dataDir, err := a.runs.DataDir(opts.dataDir)
	if err != nil {
		return err
	}
	files, warnings, err := readToRun(ctx, a, args, &opts, dataDir, nil)
	if err != nil {
		return err
	}
	if _, err := opts.policy(files); err != nil {
		return err
	}
	if opts.mode == ui.Plain { // the runs have them in their objects
		if err := a.ShowDiagnostics(console.Format(opts.mode), files, warnings); err != nil {
			return err
		}
	}
	path, err := keeper.Program()
	if err != nil {
		return err
	}
	// The environment and the config file apply to each run as well, unless a flag
	// overrides them.
	words := slices.Concat([]string{"up", "--output=json", "--repeat=0", "--until-fail=false", "--report=none", "--junit="},
		flagWords(opts.flags, ownFlags...), []string{"--"}, args)
	s := &series{app: a, opts: opts, style: a.Streams.ErrStyle(a.Color)}
	s.Player = &repeat.Player{Path: path, Args: words, Env: a.Environ, Stdin: stdin, Object: s.object, Output: s.output}
	return s.play(ctx)
}

// series is a job that runs several times.
type series struct {
	*repeat.Player
	app   *app
	opts  upOptions
	style *ui.Style
	tally repeat.Tally
	cut   func(error) // ends the series because of an error of stdout
}

// play plays runs until there were enough of them, and shows how they ended.
func (s *series) play(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.cut = func(err error) { cancel(err) }
	defer s.app.Streams.WatchOut(cancel)()
	signals, unwatch := s.app.Signals()
	defer unwatch()
	var last *repeat.Run
	for number := 1; s.opts.repeat == 0 || number <= int(s.opts.repeat); number++ {
		run, err := s.Play(number, signals, ctx.Done())
		if err != nil {
			return err
		}
		s.tally.Add(run)
		s.show(run)
		last = run
		if run.Stopped || ctx.Err() != nil || s.opts.untilFail && run.Failed() || run.ExitCode == verdict.Usage || run.ExitCode == verdict.Internal {
			break
		}
	}
	if err := s.conclude(last); err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil && s.tally.Failed == nil {
		return err
	}
	return exit.Silent(s.code(last))
}

// code returns the exit code: that of the first run that failed, or of the last one.
func (s *series) code(last *repeat.Run) int {
	if s.tally.Failed != nil {
		return s.tally.Failed.ExitCode
	}
	return last.ExitCode
}

// object passes an object of a run on.
func (s *series) object(object []byte) {
	if s.opts.mode != ui.JSON {
		return
	}
	if _, err := s.app.Streams.Out.Write(append(bytes.Clone(object), '\n')); err != nil {
		s.cut(err)
	}
}

// output shows a line of a task at once, if that is wanted of all runs.
func (s *series) output(l repeat.Line) {
	if s.opts.verbose && s.opts.mode != ui.JSON {
		s.line(l)
	}
}

func (s *series) line(l repeat.Line) {
	label := visible.String(l.Target)
	if _, err := fmt.Fprintln(s.app.Streams.Out, label+" │ "+visible.Text(l.Text)); err != nil {
		s.cut(err)
	}
}

// show shows how a run ended: in a line, and for the first that failed the output of
// its tasks.
func (s *series) show(r *repeat.Run) {
	if s.opts.mode == ui.JSON || s.opts.mode == ui.Quiet && !r.Failed() {
		return
	}
	number := fmt.Sprintf("run %d", r.Number)
	if s.opts.repeat > 0 {
		number += fmt.Sprintf(" of %d", s.opts.repeat)
	}
	text := fmt.Sprintf("%s: %s after %s", number, r.Status, prose.Duration(r.Took))
	paint, sign := s.style.Good, "✓ "
	switch {
	case r.Stopped:
		paint, sign = s.style.Quiet, "■ "
	case r.Failed():
		paint, sign = s.style.Bad, "✗ "
		if r.Status == "" {
			text = number + ": it did not start"
		}
		text += fmt.Sprintf(", exit code %d", r.ExitCode)
		if r.Reason != "" {
			text += ": " + r.Reason
		}
	}
	fmt.Fprintln(s.app.Streams.Err, paint(sign+text))
	if !r.Failed() || s.tally.Failed != r {
		return
	}
	if r.Said != "" {
		fmt.Fprintln(s.app.Streams.Err, visible.Text(r.Said))
	}
	if s.opts.verbose {
		return // it was shown
	}
	if r.Omitted > 0 {
		fmt.Fprintln(s.app.Streams.Err, s.style.Quiet(prose.Count(r.Omitted, "earlier line")+" left out"))
	}
	for _, l := range r.Tail {
		s.line(l)
	}
}

// conclude shows how all runs ended.
func (s *series) conclude(last *repeat.Run) error {
	result := answer.Repeated{Tally: &s.tally, ExitCode: s.code(last)}
	if list, ok := s.tally.Compare(compare.Defaults); ok {
		result.Comparison = &answer.Comparison{
			A: repeatedSide(s.tally.Passed), B: repeatedSide(s.tally.Failed), List: list,
		}
	}
	to := s.app.Answer(s.opts.mode)
	if s.opts.mode != ui.JSON { // stdout is for the output of tasks
		streams := *s.app.Streams
		streams.Out, streams.OutTerm = streams.Err, streams.ErrTerm
		to.Streams = &streams
	}
	if err := answer.WriteRepeated(to, result); err != nil {
		return errors.Join(errors.New("cannot show how the runs ended"), err)
	}
	return nil
}

func repeatedSide(r *repeat.Run) answer.Side {
	told := strings.TrimSpace(fmt.Sprintf("%s after %s, exit code %d", r.Status, prose.Duration(r.Took), r.ExitCode))
	return answer.Side{Name: fmt.Sprintf("run %d", r.Number), Told: told}
}
