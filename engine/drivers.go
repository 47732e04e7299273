package engine

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/validate"
)

// firstWord is how long somebody who asks for the drivers waits for one that
// has not said yet how it is.
const firstWord = time.Second

// Drivers returns the health of every driver, by name, as it is known now.
func (e *Engine) Drivers(ctx context.Context) map[string]*api.DriverInfo {
	ctx, cancel := context.WithTimeout(ctx, firstWord)
	defer cancel()
	for name := range e.cfg.Drivers {
		e.watch.begin(name)
	}
	infos := make(map[string]*api.DriverInfo, len(e.cfg.Drivers))
	for name := range e.cfg.Drivers {
		infos[name] = e.watch.info(ctx, name)
	}
	return infos
}

// checkDrivers checks that the job's drivers are there, and follows them.
func (e *Engine) checkDrivers(job *api.Job) error {
	for _, g := range job.TaskGroups {
		for _, t := range g.Tasks {
			if e.cfg.Drivers[t.Driver] == nil {
				return fmt.Errorf("task %q of group %q: unknown driver %q", t.Name, *g.Name, t.Driver)
			}
			e.watch.begin(t.Driver)
		}
	}
	return nil
}

// checkSize refuses a job with more allocations than a job may have. Nothing
// may be done for each allocation of a job before.
func (e *Engine) checkSize(job *api.Job) error {
	if found := validate.Allocations(job, e.cfg.MaxAllocs); found.HasErrors() {
		return found[0]
	}
	return nil
}

func newDriverWatch(e *Engine) *driverWatch {
	w := &driverWatch{engine: e, watched: map[string]*watched{}}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

// begin follows a driver, if it is not followed yet. It waits for nothing.
func (w *driverWatch) begin(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || w.watched[name] != nil {
		return
	}
	d := w.engine.cfg.Drivers[name]
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

// end returns when no driver is followed any more.
func (w *driverWatch) end() {
	w.mu.Lock()
	w.ended = true
	w.mu.Unlock()
	w.cancel()
	w.loops.Wait()
}

// take keeps a fingerprint, and tells of a driver that falls ill or recovers
// during the run.
func (w *driverWatch) take(name string, f drivers.Fingerprint) {
	info := &api.DriverInfo{
		Attributes:        maps.Clone(f.Attributes),
		Detected:          f.Health != drivers.HealthUndetected,
		Healthy:           f.Health == drivers.HealthHealthy,
		HealthDescription: f.HealthDescription,
		UpdateTime:        time.Now(),
	}
	if own := "driver." + name; info.Attributes[own] == "1" {
		info.Attributes[own] = "true" // as Nomad has it here, and only here
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

// info returns what is known of a driver that is followed, and waits for the
// first word until ctx ends.
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

// hand gives an event to the task that it is of. Of one that is unknown, or
// whose allocation has ended, nobody wants to hear.
func (w *driverWatch) hand(e drivers.TaskEvent) {
	if a, err := w.engine.alloc(e.AllocID); err == nil {
		a.DriverEvent(e)
	}
}

func (w *driverWatch) notice(format string, args ...any) {
	w.engine.bus.Publish(nil, "", event.Notice{Text: fmt.Sprintf(format, args...)})
}
