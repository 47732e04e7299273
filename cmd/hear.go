package cmd

import (
	"context"
	"sync"

	"taskrun/cmd/client"
	"taskrun/engine/leaf/event"
)

// hear tells when tasks of an engine have more output, until the engine does
// not answer any more or ctx has ended. The output itself outlives the engine:
// it is in its files, unless the job keeps it off the disk.
//
// More is called once for each output of a task that has started, and returns
// what to call when there is more of it, with what is in no file; nil for
// nothing.
func hear(ctx context.Context, s *client.Server, job string, more func(t *client.Task, stream event.Stream) func(output []byte, missing string)) {
	var hearing sync.WaitGroup
	defer hearing.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	heard := map[outputKey]bool{}
	// Its error says that the engine has ended.
	_ = s.Watch(ctx, job, func(tasks []*client.Task) {
		for _, t := range tasks {
			for _, stream := range []event.Stream{event.Stdout, event.Stderr} {
				key := outputKey{t.Alloc.ID, t.Name, stream}
				if heard[key] || !t.Started() {
					continue
				}
				heard[key] = true
				if call := more(t, stream); call != nil && !t.Ended() {
					hearing.Go(func() { t.Hear(ctx, stream.String(), call) })
				}
			}
		}
	})
}
