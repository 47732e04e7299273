package source

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/tasklog"
)

const (
	// maxPieces is the maximum number of pieces of output that wait to be shown.
	maxPieces = 64
	// pieceSize is the size of a read, in bytes.
	pieceSize = 64 << 10
)

type outputKey struct {
	alloc, task string
	stream      event.Stream
}

func (k outputKey) compare(o outputKey) int {
	return cmp.Or(strings.Compare(k.alloc+k.task, o.alloc+o.task), int(k.stream)-int(o.stream))
}

type output struct {
	alloc  *event.Alloc
	files  *tasklog.Reader // nil: there are none
	gap    int64           // number of skipped bytes that were reported
	begun  bool            // some was read, if there was any
	failed error
}

func (o *output) close() {
	if o.files != nil {
		_ = o.files.Close() // they were only read
	}
}

// outputs are the open outputs of a run. Only the goroutine of Follow reads them.
type outputs struct {
	mu     sync.Mutex
	open   map[outputKey]*output
	unread map[outputKey]bool // those that may have grown since they were read
	told   bool               // the engine announces which ones grow
}

func (o *outputs) get(key outputKey) *output {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.open[key]
}

func (o *outputs) add(key outputKey, out *output) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.open[key], o.unread[key] = out, true
}

// due returns the outputs to read: those that may have grown, once.
func (o *outputs) due() []outputKey {
	o.mu.Lock()
	defer o.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(o.unread), outputKey.compare)
	if o.told {
		clear(o.unread)
	}
	return keys
}

func (o *outputs) grew(key outputKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open[key] != nil { // else add does it
		o.unread[key] = true
	}
}

// tells says whether the engine announces which outputs grow. Until then all of them
// are due each time: an engine limits its connections, and this one may fail.
func (o *outputs) tells(told bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = told
	for key := range o.open {
		o.unread[key] = true
	}
}

// hold protects the current files from rotation, and makes all outputs due.
func (o *outputs) hold() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, out := range o.open {
		o.unread[key] = true
		if out.files != nil {
			out.files.Hold()
		}
	}
}

func (o *outputs) close() {
	for _, out := range o.open {
		out.close()
	}
}
