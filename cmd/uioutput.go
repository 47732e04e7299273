package cmd

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"taskrun/cmd/client"
	"taskrun/cmd/cluster"
	"taskrun/cmd/source"
	"taskrun/cmd/ui/screen"
	"taskrun/engine/leaf/event"
)

// shownTail is how many of the last lines of all outputs the screen begins with.
const shownTail = 4000

// followedOutput is a source of output of selected tasks.
type followedOutput interface {
	Subscribe(output bool) *event.Subscription
	Follow(ctx context.Context) error
}

// directoryOutputs follows output of a run of this machine, as "taskrun logs -f" does.
func directoryOutputs(of *source.Directory) func([]screen.Target, int) followedOutput {
	return func(targets []screen.Target, tail int) followedOutput {
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

// clusterOutputs follows output of tasks of a cluster's job.
func clusterOutputs(s *client.Server, job string) func([]screen.Target, int) followedOutput {
	return func(targets []screen.Target, tail int) followedOutput {
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
func (s *uiSession) follow(ctx context.Context, targets []screen.Target) {
	from := s.outputs(targets, max(20, shownTail/len(targets)/len(event.Streams)))
	events := from.Subscribe(true)
	following := s.background(func() { _ = from.Follow(ctx) }) // the follower of the run reports what is wrong
	defer following()
	defer events.Close()
	for e, ok := events.Next(ctx); ok; e, ok = events.Next(ctx) {
		switch body := e.Body.(type) {
		case event.Output:
			piece := make([]byte, body.Length)
			n, _ := body.Source.ReadAt(piece, body.Offset) // what is there
			s.feed.add(ctx, fed{screen.Target{Alloc: e.Alloc.ID, Task: e.Task}, body.Stream, e.Time, piece[:n], 0})
		case event.Gap:
			s.feed.add(ctx, fed{screen.Target{Alloc: e.Alloc.ID, Task: e.Task}, body.Stream, e.Time, nil, body.Bytes})
		}
	}
}

// feed holds output until the next picture. Of more than anybody could read it keeps
// the latest part.
type feed struct {
	wake chan struct{}

	mu    sync.Mutex
	queue []fed
	size  int       // of the queue, in bytes
	used  int       // of the burst at the time of the latest picture
	taken time.Time // the latest picture
}

// fed is a piece of output, or a gap of some bytes.
type fed struct {
	screen.Target
	stream event.Stream
	time   time.Time
	text   []byte
	gap    int64
}

// Of a flood, feedRate bytes per second are shown, and feedBurst bytes at once.
const (
	feedRate  = 1 << 20
	feedBurst = 1 << 20
)

// add queues a piece of output, unless ctx has ended.
func (f *feed) add(ctx context.Context, piece fed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() != nil {
		return // other tasks are shown
	}
	f.queue = append(f.queue, piece)
	f.size += len(piece.text)
	for i := 0; f.size > f.room() && i < len(f.queue)-1; i++ {
		p := &f.queue[i]
		f.size -= len(p.text)
		p.gap, p.text = p.gap+int64(len(p.text)), nil
	}
	f.join()
	select {
	case f.wake <- struct{}{}:
	default: // a picture is due
	}
}

// room returns how many bytes the queue may have.
func (f *feed) room() int {
	return feedBurst - max(0, f.used-int(time.Since(f.taken).Seconds()*feedRate))
}

// join joins gaps in the beginning of the queue that follow each other.
func (f *feed) join() {
	first := 0
	for first+1 < len(f.queue) && f.queue[first].text == nil && f.queue[first+1].text == nil &&
		f.queue[first].Target == f.queue[first+1].Target && f.queue[first].stream == f.queue[first+1].stream {
		f.queue[first+1].gap += f.queue[first].gap
		first++
	}
	f.queue = slices.Delete(f.queue, 0, first)
}

// take hands all to a model.
func (f *feed) take(to *screen.Model) {
	f.mu.Lock()
	queue := f.queue
	f.used = feedBurst - f.room() + f.size
	f.queue, f.size, f.taken = nil, 0, time.Now()
	f.mu.Unlock()
	for _, p := range queue {
		if p.gap > 0 {
			to.Skipped(p.Target, p.stream, p.time, fmt.Sprintf("%d bytes of %v are not shown", p.gap, p.stream))
		}
		to.Write(p.Target, p.stream, p.time, p.text)
	}
}

// clear drops all.
func (f *feed) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue, f.size = nil, 0
}
