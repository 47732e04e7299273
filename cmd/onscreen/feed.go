package onscreen

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"taskrun/cmd/ui/screen"
	"taskrun/engine/leaf/event"
)

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

func (f *feed) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue, f.size = nil, 0
}
