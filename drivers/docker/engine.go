package docker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/moby/moby/client"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
	"taskrun/drivers/docker/settings"
)

// engine is the container engine of a driver, and by which runs the containers that
// the driver has to remove are found there.
type engine struct {
	front     *Front
	run       string                          // label of what the driver creates
	find      func() (daemon.Endpoint, error) // the first call finds the engine
	connect   func() (*client.Client, error)  // the first call creates the client
	connected atomic.Bool                     // connect was called
	used      atomic.Bool                     // the engine may have containers of this run
	onUse     func()                          // called before that; may be nil

	mu   sync.Mutex
	runs map[string]bool // Shutdown removes their containers
}

// newEngine returns the engine at a host; empty: that of the options or of the
// environment.
func newEngine(front *Front, run, host string, options *settings.Options) *engine {
	e := &engine{front: front, run: run, runs: map[string]bool{run: true}}
	e.find = sync.OnceValues(func() (daemon.Endpoint, error) { return front.Find(cmp.Or(host, options.Endpoint), options) })
	e.connect = sync.OnceValues(func() (*client.Client, error) {
		endpoint, err := e.find()
		if err != nil {
			return nil, err
		}
		e.connected.Store(true)
		return endpoint.Client()
	})
	return e
}

// Shutdown removes the remaining containers of this run.
func (e *engine) Shutdown(ctx context.Context) (int, error) {
	if !e.connected.Load() {
		return 0, nil
	}
	cli, err := e.connect()
	if err != nil {
		return 0, nil //nolint:nilerr // without a client nothing was started
	}
	defer cli.Close()
	if !e.used.Load() {
		return 0, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	removed := 0
	for run := range e.runs {
		n, err := daemon.RemoveRun(ctx, cli, run)
		removed += n
		if err != nil {
			return removed, fmt.Errorf("%w; taskrun clean removes leftovers", err)
		}
	}
	return removed, nil
}

// adopt makes Shutdown remove the containers of an earlier run, too.
func (e *engine) adopt(run string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.used.Store(true)
	if run != "" {
		e.runs[run] = true
	}
}

// ref identifies the containers of a run for another program. It does not depend on
// the environment.
type ref struct {
	Run    string          `json:"run"`
	Engine daemon.Endpoint `json:"engine"`
}

// OnUse makes the driver call tell before it creates anything in the engine.
func (e *engine) OnUse(tell func(ref string)) {
	e.onUse = sync.OnceFunc(func() {
		endpoint, err := e.find()
		if err != nil {
			return // nothing is created in an engine that was not found
		}
		line, err := json.Marshal(ref{e.run, endpoint})
		if err == nil { // strings can always be marshaled
			tell(string(line))
		}
	})
}

// use records that something is about to be created in the engine.
func (e *engine) use() {
	e.used.Store(true)
	if e.onUse != nil {
		e.onUse()
	}
}

// CleanUp removes the containers of a run.
func (e *engine) CleanUp(ctx context.Context, line string) error {
	var r ref
	if err := json.Unmarshal([]byte(line), &r); err != nil || r.Run == "" {
		return fmt.Errorf("cannot find the containers of a run by %q: %w", line, err)
	}
	cli, err := r.Engine.Client()
	if err != nil {
		return err
	}
	defer cli.Close()
	_, err = daemon.RemoveRun(ctx, cli, r.Run)
	return err
}

// Leftovers returns the containers of all runs.
func (e *engine) Leftovers(ctx context.Context) ([]drivers.Leftover, error) {
	cli, err := e.connect()
	if err != nil {
		return nil, err
	}
	found, err := daemon.List(ctx, cli, daemon.LabelRun)
	if err != nil {
		return nil, daemon.Error("cannot list the containers of taskrun", err)
	}
	left := make([]drivers.Leftover, 0, len(found))
	for _, c := range found {
		name := daemon.ShortID(c.ID)
		if len(c.Names) > 0 {
			name = strings.TrimPrefix(c.Names[0], "/")
		}
		left = append(left, drivers.Leftover{ID: c.ID, Name: name, AllocDir: c.Labels[daemon.LabelDir]})
	}
	return left, nil
}
