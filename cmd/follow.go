package cmd

import (
	"context"

	"taskrun/cmd/source"
	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
)

// outside returns the loop of a command that shows a run and decides nothing.
func outside(s source.Source, screen source.Screen, output bool) *source.Loop {
	return &source.Loop{
		Source: s, Screen: screen, Output: output,
		Decider: verdict.New(verdict.Policy{Outlives: true}, nil),
	}
}

// follow follows a run until it ends or ctx does, which leaves it.
func follow(ctx context.Context, loop *source.Loop) error {
	err := loop.Run(ctx)
	if shown := loop.Shown(ctx); ctx.Err() != nil && (err != nil || !shown) {
		return context.Cause(ctx)
	}
	if err != nil || loop.Screen == nil {
		return err
	}
	select {
	case broken := <-loop.Screen.Broken():
		return broken
	default:
		return nil
	}
}

// goesOn says that a run goes on, to a user whose signal has ended ctx.
func (a *app) goesOn(ctx context.Context, d *source.Directory) {
	if bySignal(ctx) != nil {
		a.say("the run goes on; stop it with: taskrun stop %s", d.IDs[0])
	}
}

// notices is a screen that shows the notices of a run alone.
type notices func(text string)

// Run shows each notice.
func (n notices) Run(ctx context.Context, events *event.Subscription) {
	defer events.Close()
	for e, ok := events.Next(ctx); ok; e, ok = events.Next(ctx) {
		if body, ok := e.Body.(event.Notice); ok {
			n(body.Text)
		}
	}
}

// Say shows a text.
func (n notices) Say(text string) { n(text) }

// SayAfter shows a text at once: a screen of notices has no events to wait for.
func (n notices) SayAfter(_ uint64, text string) { n(text) }

// Broken never gets an error: notices do not go to stdout.
func (n notices) Broken() <-chan error { return nil }
