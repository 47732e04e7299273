// Package engine runs jobs on this machine: it places their allocations, runs
// and replaces them, and publishes events. It owns everything that lives during
// a run; callers send it jobs and orders, and follow the events.
package engine

import (
	"context"
	"sync"

	"taskrun/engine/store"
)

// Engine runs jobs. Its methods are safe for concurrent use.
type Engine struct {
	*host
	runs jobRuns

	// They end the contexts of the host.
	stop, kill, leave, settle context.CancelFunc

	onRecorder func(*store.Recorder) // for tests that interrupt the recorder
	unread     error                 // why the registry cannot be read

	mu        sync.Mutex
	submitted bool
	closed    bool
}
