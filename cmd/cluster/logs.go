package cluster

import (
	"context"

	"taskrun/cmd/client"
	"taskrun/engine/leaf/event"
)

// Logs follows outputs of tasks in a cluster, and does not end by itself. The
// output of a dead task is followed by its state.
type Logs struct {
	Server  *client.Server
	Job     string // empty: all jobs
	Tail    int    // number of last lines; negative: all that is kept
	Streams []event.Stream
	Want    func([]*client.Task) []*client.Task // selects tasks
	outlet
}

// NewLogs returns the outputs of all tasks in a cluster, from their beginning.
func NewLogs(s *client.Server) *Logs {
	want := func(tasks []*client.Task) []*client.Task { return tasks }
	return &Logs{Server: s, Tail: -1, Streams: event.Streams, Want: want, outlet: newOutlet()}
}

// Follow publishes past and future output, including that of tasks that start
// later, until ctx ends. It restores broken connections.
func (l *Logs) Follow(ctx context.Context) error {
	defer l.bus.Close()
	ctx, cancel := context.WithCancel(ctx)
	outputs := newOutputs(ctx)
	defer outputs.close()
	defer cancel()
	outputs.say = l.say
	outputs.show = func(o *output, piece []byte) { l.show(ctx, o, piece) }
	ended := map[outputKey]bool{}
	link := link{say: l.say}
	return link.follow(ctx, func(after uint64) (uint64, bool, error) {
		tasks, index, err := l.Server.Tasks(ctx, l.Job, after)
		if err != nil {
			return 0, false, err
		}
		for _, t := range l.Want(tasks) {
			key := outputKey{alloc: t.Alloc.ID, task: t.Name}
			if !t.Started() || ended[key] {
				continue
			}
			alloc := t.EventAlloc()
			l.begin(ctx, outputs, t, alloc)
			if t.Ended() {
				ended[key] = true
				outputs.rest(alloc.ID, t.Name)
				l.bus.Publish(alloc, t.Name, event.TaskState{State: dead, Failed: t.State.Failed, Restarts: t.State.Restarts})
			}
		}
		return index, false, nil
	})
}

// begin starts to follow the outputs of a task that are not followed yet.
func (l *Logs) begin(ctx context.Context, o *outputs, t *client.Task, alloc *event.Alloc) {
	for _, stream := range l.Streams {
		if o.all[outputKey{alloc.ID, t.Name, stream}] != nil {
			continue
		}
		from := client.Position{}
		if l.Tail >= 0 {
			var err error
			if from, err = (client.LogFiles{Task: t, Stream: stream}).Back(ctx, l.Tail); err != nil {
				from = client.Position{End: true} // reading reports the error
			}
		}
		o.begin(t, alloc, from, stream)
	}
}
