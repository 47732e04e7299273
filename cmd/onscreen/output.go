package onscreen

import (
	"context"
	"slices"

	"taskrun/cmd/client"
	"taskrun/cmd/cluster"
	"taskrun/cmd/source"
	"taskrun/cmd/ui/screen"
	"taskrun/engine/leaf/event"
)

// shownTail is how many of the last lines of all outputs the screen begins with.
const shownTail = 4000

// directoryOutputs follows output of a run of this machine, as "taskrun logs -f" does.
func directoryOutputs(of *source.Directory) func([]screen.Target, int) Output {
	return func(targets []screen.Target, tail int) Output {
		d := source.NewDirectory(of.Server, of.Self)
		d.IDs, d.EndedJobs = of.IDs, of.EndedJobs
		d.Detail, d.Tail = source.Outputs, tail
		d.Newest = 64 << 10 // several times per picture
		if !slices.ContainsFunc(targets, func(t screen.Target) bool { return t.Alloc != targets[0].Alloc }) {
			d.Alloc = targets[0].Alloc
		}
		d.Want = func(t *client.Task, _ event.Stream) bool {
			return slices.Contains(targets, screen.Target{Alloc: t.Alloc.ID, Task: t.Name})
		}
		return closingDirectory{d}
	}
}

// closingDirectory closes its files when it was followed.
type closingDirectory struct{ *source.Directory }

func (d closingDirectory) Follow(ctx context.Context) error {
	defer d.Close()
	return d.Directory.Follow(ctx)
}

// ClusterOutputs follows output of tasks of a cluster's job.
func ClusterOutputs(s *client.Server, job string) func([]screen.Target, int) Output {
	return func(targets []screen.Target, tail int) Output {
		logs := cluster.NewLogs(s)
		logs.Job, logs.Tail = job, tail
		logs.Want = func(tasks []*client.Task) []*client.Task {
			return slices.DeleteFunc(tasks, func(t *client.Task) bool {
				return !slices.Contains(targets, screen.Target{Alloc: t.Alloc.ID, Task: t.Name})
			})
		}
		return logs
	}
}

// follow hands the output of tasks to the model until ctx ends.
func (s *Session) follow(ctx context.Context, targets []screen.Target) {
	from := s.Outputs(targets, max(20, shownTail/len(targets)/len(event.Streams)))
	events := from.Subscribe(true)
	following := s.background(func() { _ = from.Follow(ctx) }) // the follower of the run reports what is wrong
	defer following()
	defer events.Close()
	for e, ok := events.Next(ctx); ok; e, ok = events.Next(ctx) {
		switch body := e.Body.(type) {
		case event.Output:
			piece := make([]byte, body.Length)
			n, _ := body.Source.ReadAt(piece, body.Offset) // as much as there is
			s.feed.add(ctx, fed{screen.Target{Alloc: e.Alloc.ID, Task: e.Task}, body.Stream, e.Time, piece[:n], 0})
		case event.Gap:
			s.feed.add(ctx, fed{screen.Target{Alloc: e.Alloc.ID, Task: e.Task}, body.Stream, e.Time, nil, body.Bytes})
		}
	}
}
