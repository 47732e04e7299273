package cmd

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/jobspec"
)

// driverTime is how long a driver may take to say how it is.
const driverTime = 5 * time.Second

// fingerprint tells how a driver is. Each is asked once.
func (a *app) fingerprint(name string) drivers.Fingerprint {
	if f, ok := a.fingerprints[name]; ok {
		return f
	}
	ctx, cancel := context.WithTimeout(context.Background(), driverTime)
	defer cancel()
	f := drivers.Fingerprint{Health: drivers.HealthUnhealthy, HealthDescription: "it does not tell how it is"}
	ch, err := a.drivers()[name].Fingerprint(ctx)
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
	if a.fingerprints == nil {
		a.fingerprints = map[string]drivers.Fingerprint{}
	}
	a.fingerprints[name] = f
	return f
}

// unusable finds tasks whose driver cannot be used on this machine.
func (a *app) unusable(files []jobFile) (problems jobspec.Problems) {
	for _, f := range files {
		if f.Job == nil {
			continue
		}
		var found jobspec.Problems
		forTasks(f.Job, func(t *api.Task, at jobspec.Path) {
			if a.drivers()[t.Driver] == nil {
				return // checkDrivers says so
			}
			if health := a.fingerprint(t.Driver); health.Health != drivers.HealthHealthy {
				found = append(found, unusableDriver(t.Driver, health, at))
			}
		})
		f.Place(found)
		problems = append(problems, found...)
	}
	return problems
}

func unusableDriver(name string, f drivers.Fingerprint, at jobspec.Path) jobspec.Problem {
	p := jobspec.Problem{
		Summary: fmt.Sprintf("driver %q cannot be used on this machine", name),
		Detail:  f.HealthDescription,
		Path:    at.Attr("driver"),
	}
	switch other := standIns[name]; {
	case f.Health == drivers.HealthUndetected && f.HealthDescription == "disabled":
		p.Detail = "the config file has disabled it"
		p.Remedy = fmt.Sprintf("enable it in the block plugin %q { config { … } }", name)
	case other != "":
		p.Remedy = fmt.Sprintf("or run it with another one: --driver %s=%s, or rehearse the job: --rehearse", name, other)
	}
	return p
}

// driverAttributes are the attributes of the node that come from drivers: of
// those that run tasks, and of all when a job asks for some.
func (a *app) driverAttributes(files []jobFile) map[string]string {
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
			for name := range a.drivers() {
				wanted[name] = true
			}
		}
	}
	attributes := map[string]string{}
	for name := range a.drivers() {
		if !wanted[name] {
			continue
		}
		maps.Copy(attributes, a.fingerprint(name).Attributes)
	}
	return attributes
}
