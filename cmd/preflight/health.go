package preflight

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/jobspec"
)

// driverTime is how long a driver may take to report its fingerprint.
const driverTime = 5 * time.Second

// Health caches the fingerprints of drivers: each driver is asked once.
type Health struct {
	drivers map[string]drivers.Driver
	known   map[string]drivers.Fingerprint
}

// NewHealth returns a Health that has asked no driver yet.
func NewHealth(known map[string]drivers.Driver) *Health {
	return &Health{known, map[string]drivers.Fingerprint{}}
}

// Of returns the fingerprint of a driver, which must be one of those given to
// NewHealth.
func (h *Health) Of(name string) drivers.Fingerprint {
	if f, ok := h.known[name]; ok {
		return f
	}
	ctx, cancel := context.WithTimeout(context.Background(), driverTime)
	defer cancel()
	f := drivers.Fingerprint{Health: drivers.HealthUnhealthy, HealthDescription: "it did not report its health in time"}
	ch, err := h.drivers[name].Fingerprint(ctx)
	if err != nil {
		f.HealthDescription = err.Error()
	} else {
		select {
		case first, ok := <-ch:
			if ok {
				f = first
			}
		case <-ctx.Done():
		}
	}
	h.known[name] = f
	return f
}

// health finds drivers that cannot be used on this machine, each once a job.
func health(c *Case, f File) (found jobspec.Diagnostics) {
	var names []string             // of those drivers
	tasks := map[string][]string{} // by driver
	forTasks(f.Job, func(t *api.Task, at jobspec.Path) {
		if c.Drivers[t.Driver] == nil {
			return // another check says so
		}
		is := c.Health.Of(t.Driver)
		if is.Health == drivers.HealthHealthy {
			return
		}
		if tasks[t.Driver] == nil {
			names, found = append(names, t.Driver), append(found, unusableDriver(t.Driver, is, at))
		}
		tasks[t.Driver] = append(tasks[t.Driver], strconv.Quote(t.Name))
	})
	for i, name := range names {
		if users := tasks[name]; len(users) > 1 {
			found[i].Detail += fmt.Sprintf("; %d tasks need it: %s", len(users), strings.Join(users, ", "))
		}
	}
	return found
}

func unusableDriver(name string, f drivers.Fingerprint, at jobspec.Path) jobspec.Diagnostic {
	p := jobspec.Diagnostic{
		Summary: fmt.Sprintf("driver %q cannot be used on this machine", name),
		Detail:  f.HealthDescription,
		Path:    at.Attr("driver"),
	}
	switch other := alternatives[name]; {
	case f.Disabled:
		p.Detail = "the config file has disabled it"
		p.Remedy = fmt.Sprintf("enable it in the block plugin %q { config { … } }", name)
	case other != "":
		p.Remedy = fmt.Sprintf("or run it with another one: --driver %s=%s, or rehearse the job: taskrun rehearse", name, other)
	}
	return p
}

// attributes returns the attributes of the node that come from drivers: of
// those that run tasks, and of all when a file asks for some.
func (h *Health) attributes(files []File) map[string]string {
	wanted := map[string]bool{}
	for _, f := range files {
		if f.Job == nil {
			continue
		}
		forTasks(f.Job, func(t *api.Task, _ jobspec.Path) { wanted[t.Driver] = true })
		for _, text := range f.Sources {
			if !bytes.Contains(text, []byte("attr.driver.")) {
				continue
			}
			for name := range h.drivers {
				wanted[name] = true
			}
		}
	}
	attributes := map[string]string{}
	for name := range h.drivers {
		if wanted[name] {
			maps.Copy(attributes, h.Of(name).Attributes)
		}
	}
	return attributes
}
