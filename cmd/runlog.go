package cmd

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/visible"
)

// runLog is the screen of a run in the background: its stderr is the log of the
// run, which gets what taskrun itself has to say. The rest is in the history.
type runLog struct{}

func (n *runLog) Run(ctx context.Context, events *event.Subscription) {
	defer events.Close()
	for e, ok := events.Next(ctx); ok; e, ok = events.Next(ctx) {
		if body, ok := e.Body.(event.Notice); ok {
			n.Say(body.Text)
		}
	}
}

func (n *runLog) Say(text string) {
	at := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	fmt.Fprintf(os.Stderr, "%s %s\n", at, strings.ReplaceAll(visible.Text(strings.TrimSpace(text)), "\n", "\n\t"))
}

func (n *runLog) Broken() <-chan error { return nil }

func (n *runLog) End(r ui.Result) {
	text := fmt.Sprintf("the run has ended with exit code %d", r.ExitCode)
	if r.Cause != "" {
		text += ": " + r.Cause
	}
	n.Say(text)
}
