package source

import (
	"context"

	"taskrun/engine/leaf/event"
)

// Notices is a screen that shows only the notices of a run.
type Notices func(text string)

// Run shows each notice until events end.
func (n Notices) Run(ctx context.Context, events *event.Subscription) {
	defer events.Close()
	for e, ok := events.Next(ctx); ok; e, ok = events.Next(ctx) {
		if body, ok := e.Body.(event.Notice); ok {
			n(body.Text)
		}
	}
}

// Say shows a text.
func (n Notices) Say(text string) { n(text) }

// SayAfter shows a text at once: a screen of notices has no earlier events to
// wait for.
func (n Notices) SayAfter(_ uint64, text string) { n(text) }

// Broken never receives an error: notices do not go to stdout.
func (n Notices) Broken() <-chan error { return nil }
