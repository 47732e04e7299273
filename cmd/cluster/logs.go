package cluster

import (
	"context"

	"taskrun/cmd/client"
	"taskrun/engine/leaf/event"
)

// Logs are outputs of tasks of a cluster.
type Logs struct {
	Job     string // of this one alone; empty: of all
	Tail    int    // how many of the last lines; negative: all that is kept
	Streams []event.Stream
	Want    func([]*client.Task) []*client.Task // which of them
	// Show takes a piece of an output, which it may not keep. It is called from
	// several goroutines. Ended is called when there will be no more.
	Show  func(alloc *event.Alloc, task string, stream event.Stream, piece []byte) error
	Ended func(alloc *event.Alloc, task string) error
	Say   func(text string)
}

// Follow shows what there is and what comes, also of tasks that start later,
// until ctx ends. A connection that breaks off is taken up again.
func (l *Logs) Follow(ctx context.Context, s *client.Server) error {
	ctx, cancel := context.WithCancelCause(ctx)
	outputs := newOutputs(ctx)
	defer outputs.close()
	defer cancel(nil)
	outputs.say = l.Say
	outputs.show = func(o *output, piece []byte) {
		if err := l.Show(o.alloc, o.task.Name, o.stream, piece); err != nil {
			cancel(err)
		}
	}
	ended := map[outputKey]bool{}
	link := link{say: l.Say}
	return link.watch(ctx, func(after uint64) (uint64, bool, error) {
		tasks, index, err := s.Tasks(ctx, l.Job, after)
		if err != nil {
			return 0, false, err
		}
		for _, t := range l.Want(tasks) {
			key := outputKey{alloc: t.Alloc.ID, task: t.Name}
			if !t.Started() || ended[key] {
				continue
			}
			alloc := &event.Alloc{Job: t.Alloc.JobID, Group: t.Alloc.TaskGroup, Name: t.Alloc.Name, ID: t.Alloc.ID}
			l.begin(ctx, outputs, t, alloc)
			if t.Ended() {
				ended[key] = true
				outputs.rest(alloc.ID, t.Name)
				if err := l.Ended(alloc, t.Name); err != nil {
					cancel(err)
				}
			}
		}
		return index, false, nil
	})
}

// begin follows the outputs of a task that are not followed yet.
func (l *Logs) begin(ctx context.Context, o *outputs, t *client.Task, alloc *event.Alloc) {
	for _, stream := range l.Streams {
		if o.all[outputKey{alloc.ID, t.Name, stream}] != nil {
			continue
		}
		from := client.Position{}
		if l.Tail >= 0 {
			var err error
			if from, err = t.Back(ctx, stream.String(), l.Tail); err != nil {
				from = client.Position{End: true} // reading tells of the error
			}
		}
		o.begin(t, alloc, from, stream)
	}
}
