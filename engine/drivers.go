package engine

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
)

// driverWatch follows the health and the task events of drivers, each one from
// its first use.
type driverWatch struct {
	drivers map[string]drivers.Driver
	allocs  *allocs
	notice  func(format string, args ...any)
	ctx     context.Context
	cancel  context.CancelFunc
	loops   sync.WaitGroup

	mu      sync.Mutex
	ended   bool
	watched map[string]*watched
}

// watched is a driver that is followed.
type watched struct {
	first chan struct{} // closed after the first fingerprint
	info  *api.DriverInfo
}

func newDriverWatch(catalog map[string]drivers.Driver, known *allocs, notice func(string, ...any)) *driverWatch {
	w := &driverWatch{drivers: catalog, allocs: known, notice: notice, watched: map[string]*watched{}}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

// begin starts to follow a driver, unless it is followed already. It does not
// block.
func (w *driverWatch) begin(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || w.watched[name] != nil {
		return
	}
	d := w.drivers[name]
	w.watched[name] = &watched{first: make(chan struct{})}
	w.loops.Go(func() {
		drivers.Follow(w.ctx, d, func(f drivers.Fingerprint) { w.take(name, f) })
	})
	source, ok := d.(drivers.EventSource)
	if !ok {
		return
	}
	events, err := source.TaskEvents(w.ctx)
	if err != nil {
		w.notice("cannot follow the events of driver %s: %v", name, err)
		return
	}
	w.loops.Go(func() {
		for e := range events {
			w.hand(e)
		}
	})
}

// end waits until no driver is followed.
func (w *driverWatch) end() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.cancel()
	w.loops.Wait()
}

// take records a fingerprint, and publishes a notice when the driver becomes
// unhealthy or recovers during the run.
func (w *driverWatch) take(name string, f drivers.Fingerprint) {
	info := &api.DriverInfo{
		Attributes:        maps.Clone(f.Attributes),
		Detected:          f.Health != drivers.HealthUndetected,
		Healthy:           f.Health == drivers.HealthHealthy,
		HealthDescription: f.HealthDescription,
		UpdateTime:        time.Now(),
	}
	if own := "driver." + name; info.Attributes[own] == "1" {
		info.Attributes[own] = "true" // Nomad sets it here, and only here
	}
	w.mu.Lock()
	d := w.watched[name]
	before := d.info
	d.info = info
	w.mu.Unlock()
	if before == nil {
		close(d.first)
	} else if before.Healthy != info.Healthy {
		w.notice("driver %s is %s: %s", name, f.Health, f.HealthDescription)
	}
}

// info returns the state of a followed driver. It waits for the first
// fingerprint until ctx ends.
func (w *driverWatch) info(ctx context.Context, name string) *api.DriverInfo {
	w.mu.Lock()
	d := w.watched[name]
	w.mu.Unlock()
	if d != nil {
		select {
		case <-d.first:
		case <-w.ctx.Done():
		case <-ctx.Done():
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if d.info != nil {
			return d.info
		}
	}
	return &api.DriverInfo{HealthDescription: "the health of the driver is not known yet"}
}

// hand passes an event to its task. It drops events of unknown tasks and
// forgotten allocations.
func (w *driverWatch) hand(e drivers.TaskEvent) {
	if a := w.allocs.find(e.AllocID); a != nil {
		a.DriverEvent(e)
	}
}

// follow follows the drivers of a job. It returns an error if one of them does
// not exist.
func (w *driverWatch) follow(job *api.Job) error {
	for _, g := range job.TaskGroups {
		for _, t := range g.Tasks {
			if w.drivers[t.Driver] == nil {
				return fmt.Errorf("task %q of group %q: unknown driver %q", t.Name, *g.Name, t.Driver)
			}
			w.begin(t.Driver)
		}
	}
	return nil
}
