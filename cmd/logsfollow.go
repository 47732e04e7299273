package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"taskrun/cmd/client"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/tasklog"
)

// followRun shows the output of one run until that has ended. It is read from
// its files, which outlive the engine: nothing is lost however slowly it is
// shown, and whatever ends the engine.
func (l *logsSession) followRun(ctx context.Context, s *client.Server) error {
	self, err := s.Self(ctx)
	if client.Gone(err) { // the run has just ended
		kept, _, _, err := l.endedTasks(ctx, l.opts.dataDir, l.opts.job, l.targets)
		if err != nil {
			return err
		}
		return l.show(ctx, l.of(kept))
	}
	if err != nil {
		return err
	}
	run := newLiveRun(s, self)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var showing sync.WaitGroup
	over := make(chan struct{})
	shown := map[outputKey]*shownOutput{}
	err = run.attend(ctx, func(ctx context.Context) {
		for _, o := range shown {
			o.news()
		}
		hear(ctx, s, l.opts.job, func(t *client.Task, stream event.Stream) func([]byte, string) {
			if !l.wants(t, stream) {
				return nil
			}
			key := outputKey{t.Alloc.ID, t.Name, stream}
			o := shown[key]
			if o == nil {
				o = &shownOutput{session: l, task: t, stream: stream, more: make(chan struct{}, 1), over: over}
				shown[key] = o
				if err := o.open(run); err != nil {
					cancel(err)
					return nil
				}
				showing.Go(func() {
					if err := o.show(ctx); err != nil {
						cancel(err)
					}
				})
			}
			return func(output []byte, missing string) {
				if err := o.hear(output, missing); err != nil {
					cancel(err)
				}
			}
		})
	})
	close(over)
	showing.Wait()
	if broken := context.Cause(ctx); broken != nil {
		return broken
	}
	return err
}

// shownOutput is one output of a task that is followed.
type shownOutput struct {
	session *logsSession
	alloc   *event.Alloc
	task    *client.Task
	stream  event.Stream
	tail    []byte          // the last lines of what there was
	files   *tasklog.Reader // nil: there are none
	more    chan struct{}
	over    <-chan struct{} // nothing more is written
	told    int64           // bytes that are left out, as was said
}

// open opens the files where the showing begins. An allocation that was removed
// has none, and a task that is kept off the disk.
func (o *shownOutput) open(run *liveRun) error {
	a := o.task.Alloc
	o.alloc = &event.Alloc{Job: a.JobID, Group: a.TaskGroup, Name: a.Name, ID: a.ID}
	dir := run.logs(a.JobID, a.ID)
	var err error
	if lines := o.session.opts.tail; lines < 0 {
		o.files, err = tasklog.OpenReader(dir, o.task.Name, o.stream, 0, io.SeekStart)
	} else {
		o.tail, o.files, err = tasklog.FollowTail(dir, o.task.Name, o.stream, lines)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// news says that there may be more in the files. It does not wait until that is
// shown, and what it has seen rotation does not take.
func (o *shownOutput) news() {
	if o.files != nil {
		o.files.Hold()
	}
	select {
	case o.more <- struct{}{}:
	default: // it is told already
	}
}

// hear takes in what the engine tells.
func (o *shownOutput) hear(output []byte, missing string) error {
	if output == nil && missing == "" {
		o.news()
		return nil
	}
	if missing != "" {
		o.session.warn(fmt.Errorf("%s of task %q: %s", o.stream, o.task.Name, missing))
	}
	return o.session.view.Write(o.alloc, o.task.Name, o.stream, output)
}

// show shows what is in the files until nothing more is written.
func (o *shownOutput) show(ctx context.Context) (err error) {
	if o.files != nil {
		defer func() { err = errors.Join(err, o.files.Close()) }()
	}
	if err := o.session.view.Write(o.alloc, o.task.Name, o.stream, o.tail); err != nil {
		return err
	}
	o.tail = nil
	for over := false; ; {
		if err := o.showMore(ctx); err != nil {
			return err
		}
		if over {
			return o.session.view.Ended(o.alloc, o.task.Name)
		}
		select {
		case <-o.more:
		case <-o.over:
			over = true
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// showMore shows what is in the files and was not shown.
func (o *shownOutput) showMore(ctx context.Context) error {
	if o.files == nil {
		return nil
	}
	for buf := make([]byte, pieceSize); ctx.Err() == nil; {
		n, err := o.files.Read(buf)
		if skipped := o.files.Skipped(); skipped > o.told {
			o.session.warn(fmt.Errorf("%d bytes of %s of task %q are left out here: the reader was too slow", skipped-o.told, o.stream, o.task.Name))
			o.told = skipped
		}
		if n > 0 {
			if err := o.session.view.Write(o.alloc, o.task.Name, o.stream, buf[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("cannot read %s of task %q: %w", o.stream, o.task.Name, err)
		}
	}
	return context.Cause(ctx)
}
