package cmd

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/spf13/cobra"

	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
	"taskrun/cmd/record"
	"taskrun/cmd/report/page"
	"taskrun/cmd/report/trace"
	"taskrun/cmd/source"
	"taskrun/cmd/textfile"
	"taskrun/cmd/ui"
	"taskrun/cmd/ui/waterfall"
)

// traceFormat is the value of --format.
type traceFormat string

// Values of --format.
const (
	traceText     traceFormat = "text"
	traceHTML     traceFormat = "html"
	traceSVG      traceFormat = "svg"
	traceMermaid  traceFormat = "mermaid"
	tracePerfetto traceFormat = "perfetto"
	traceJSON     traceFormat = "json"
)

type traceOptions struct {
	lookup.Connection
	format traceFormat
	to     string // path of the file; empty: stdout
	follow bool
}

func newTraceCommand(a *app) *cobra.Command {
	opts := traceOptions{format: traceText}
	cmd := &cobra.Command{
		Use:   "trace [-f] [RUN]",
		Short: "Show where the time of a run went",
		Long: `Draw a run as a waterfall: for each task when it waited and for what, how long
its setup took, when it ran, restarted and stopped, with marks for events,
checks and deployments. Below it is the critical path: the chain of steps, each
of which the next one waited for, until the run ended. For a run that is in
progress or was stopped, the path ends when its last allocation became healthy.

Without RUN, draw the only run that has not ended, or else the latest one.

` + lookup.RunNameHelp + `

With --follow, draw until the run ends: again and again on a terminal, and else
once at the end. Ctrl-C detaches; the run continues.

With --address, draw what a Nomad cluster still knows about a job: the last ten
events of each task. RUN is the job then, and required.

Formats:
  text      a picture for a terminal, as wide as the terminal or COLUMNS
  html      a page for a browser, in one file
  svg       a picture for a browser or a document
  mermaid   a Gantt diagram for Markdown files
  perfetto  Chrome trace events, for https://ui.perfetto.dev
  json      one object

Exit codes:
  0  success; with --follow, the run has ended
  1  there is no such run
  2  the call is wrong
  129, 130, 143  stopped by SIGHUP, SIGINT (Ctrl-C), SIGTERM
  141  stdout was closed`,
		Example: `  taskrun trace web
  taskrun trace -f
  taskrun trace --format html --to web.html web.zip`,
		Args:              arguments(0, 1),
		ValidArgsFunction: completeRunNames(a, &opts.DataDir, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runTrace(cmd.Context(), a, first(args), opts)
		},
	}
	flags := cmd.Flags()
	opts.BindRuns(flags)
	bindChoice(cmd, flags, "format", "text, html, svg, mermaid, perfetto or json", ui.Choice[traceFormat]{
		To: &opts.format, Kind: "format", Values: []traceFormat{traceText, traceHTML, traceSVG, traceMermaid, tracePerfetto, traceJSON},
	})
	flags.StringVar(&opts.to, "to", "", "write to a `file` instead of stdout")
	flags.BoolVarP(&opts.follow, "follow", "f", false, "draw until the run ends")
	return cmd
}

func runTrace(ctx context.Context, a *app, name string, opts traceOptions) error {
	remote, err := opts.Remote()
	if err != nil {
		return err
	}
	ctx, stop := a.Stoppable(ctx)
	defer stop()
	if opts.format == traceHTML && opts.to == "" && a.Streams.OutTerm {
		return exit.Usage("cannot show a page on a terminal").WithHint("write it to a file: taskrun trace --format html --to trace.html")
	}
	t := &tracing{app: a, opts: opts}
	if remote {
		err = t.ofCluster(ctx, name)
	} else {
		err = t.here(ctx, name)
	}
	return exit.Stopped(ctx, err)
}

type tracing struct {
	*app
	opts    traceOptions
	builder *trace.Builder
}

// here draws a run of this machine.
func (t *tracing) here(ctx context.Context, name string) error {
	r, err := t.runs.OpenRun(ctx, name, t.opts.DataDir)
	if err != nil {
		return err
	}
	defer r.Close()
	spec, err := r.KnownJob(ctx)
	if err != nil {
		t.Warn(err) // it is known less well then
	}
	var jobs []*api.Job
	if spec != nil {
		jobs = append(jobs, spec)
	}
	t.builder = trace.NewBuilder(jobs)
	if r.Engine != nil && t.opts.follow {
		d := r.Engine
		defer d.Close()
		d.Detail = source.Events
		err := t.follow(ctx, d, r.Job)
		if ctx.Err() != nil {
			return err
		}
		return cmp.Or(err, t.write(record.At(r.Dir, r.Job), time.Time{}))
	}
	for e, err := range t.runs.EventsOf(r.Run) {
		if err != nil {
			return err
		}
		t.builder.Add(e)
	}
	now := time.Time{}
	if r.Live {
		now = time.Now()
	}
	return t.write(r.Run, now)
}

// ofCluster draws what a cluster still knows of a job.
func (t *tracing) ofCluster(ctx context.Context, id string) error {
	j, err := findClusterJob(ctx, t.app, t.opts.Connection, id)
	if err != nil {
		return err
	}
	run := j.silentRun()
	t.builder = trace.NewBuilder([]*api.Job{j.job})
	if t.opts.follow {
		err := t.follow(ctx, run, id)
		if ctx.Err() != nil {
			return err
		}
		return cmp.Or(err, t.write(nil, time.Time{}))
	}
	past, err := run.Past(ctx)
	if err != nil {
		return err
	}
	for _, e := range past {
		t.builder.Add(e)
	}
	now := time.Time{}
	if j.runs() {
		now = time.Now()
	}
	return t.write(nil, now)
}

// write writes the trace in its format. The run has more to show than its events, unless
// it is nil.
func (t *tracing) write(r *record.Run, now time.Time) error {
	tr := t.builder.Trace(now)
	if r != nil && r.Summary != nil {
		tr.Status = r.Summary.Status
	}
	if t.opts.to == "" {
		return t.render(t.Streams.Out, tr, r, t.picture(t.Streams.Width()))
	}
	var text bytes.Buffer
	options := t.picture(t.Streams.Width())
	options.Style = ui.NewStyle(false)
	err := t.render(&text, tr, r, options)
	if err == nil {
		err = textfile.Save(t.opts.to, text.Bytes())
	}
	if err != nil {
		return fmt.Errorf("cannot write the trace to %q: %w", t.opts.to, err)
	}
	return nil
}

func (t *tracing) render(w io.Writer, tr *trace.Trace, r *record.Run, options waterfall.Options) error {
	switch t.opts.format {
	case traceHTML:
		return writePage(w, tr, r)
	case traceSVG:
		return page.SVG(w, tr)
	case traceMermaid:
		return trace.Mermaid(w, tr)
	case tracePerfetto:
		return trace.Perfetto(w, tr)
	case traceJSON:
		return trace.JSON(w, tr)
	case traceText:
	}
	var text bytes.Buffer
	ui.WriteLines(&text, waterfall.Lines(tr, options))
	_, err := w.Write(text.Bytes())
	return err
}

// picture returns the options of a picture for stdout.
func (t *tracing) picture(width int) waterfall.Options {
	return waterfall.Options{
		Width: width, Style: t.Streams.OutStyle(t.Color), ASCII: !t.Streams.UTF8(), Zone: time.Local,
	}
}

// follow takes in the events of a job until its run ends. On a terminal it draws them
// meanwhile, and removes the picture at the end of the run.
func (t *tracing) follow(ctx context.Context, s source.Source, job string) error {
	screen := &traceScreen{Notices: noticesOf(t.app), builder: t.builder, picture: t.picture, job: job, broken: make(chan error, 1)}
	if t.opts.format == traceText && t.opts.to == "" && t.Streams.OutTerm && t.Streams.Cursor() {
		screen.still = t.Streams.Still()
	}
	err := follow(ctx, outside(s, screen, false))
	if screen.still != nil && ctx.Err() == nil {
		err = cmp.Or(err, screen.still.Erase())
	}
	return err
}
