package cmd

import (
	"context"

	"taskrun/cmd/exit"
	"taskrun/cmd/source"
	"taskrun/cmd/verdict"
	"taskrun/engine/leaf/event"
)

// outside returns the loop of a command that shows a run without deciding
// anything.
func outside(s source.Source, screen source.Screen, output bool) *source.Loop {
	return &source.Loop{
		Source: s, Screen: screen, Output: output,
		Decider: verdict.New(verdict.Policy{Outlives: true}, nil),
	}
}

// follow follows a run until it ends, or until ctx ends, which leaves the run
// alone.
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

// goesOn tells a user whose signal ended ctx that the run continues.
func (a *app) goesOn(ctx context.Context, d *source.Directory) {
	if exit.BySignal(ctx) != nil {
		a.Say("the run continues; stop it with: taskrun stop %s", event.JobName(d.IDs[0]))
	}
}

// noticesOf returns the screen that shows notices as messages.
func noticesOf(a *app) source.Notices { return func(text string) { a.Say("%s", text) } }
