package cmd

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"taskrun/cmd/ui/view"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/visible"
)

// notices is the screen of those who want to know notices alone.
type notices func(text string)

// Run says each notice.
func (n notices) Run(ctx context.Context, events *event.Subscription) {
	defer events.Close()
	for e, ok := events.Next(ctx); ok; e, ok = events.Next(ctx) {
		if body, ok := e.Body.(event.Notice); ok {
			n(body.Text)
		}
	}
}

// Say says a text.
func (n notices) Say(text string) { n(text) }

// SayAfter says a text at once: events are not shown.
func (n notices) SayAfter(_ uint64, text string) { n(text) }

// Broken gets nothing: nothing is written to stdout.
func (n notices) Broken() <-chan error { return nil }

// runLog is the screen of a run in the background: its stderr is the log of the
// run, with the messages of taskrun. The rest is in the history.
type runLog struct{ notices }

func newRunLog() *runLog {
	return &runLog{func(text string) {
		at := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
		fmt.Fprintf(os.Stderr, "%s %s\n", at, strings.ReplaceAll(visible.Text(strings.TrimSpace(text)), "\n", "\n\t"))
	}}
}

// End says how the run has ended.
func (n *runLog) End(r view.Result) {
	text := fmt.Sprintf("the run has ended with exit code %d", r.ExitCode)
	if r.Cause != "" {
		text += ": " + r.Cause
	}
	n.Say(text)
}
