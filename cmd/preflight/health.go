package preflight

import (
	"context"
	"time"

	"taskrun/drivers"
)

// driverTime is how long a driver may take to report its fingerprint. Those of
// container engines have limits of their own, which are shorter, and say more.
const driverTime = 90 * time.Second

// Health caches the fingerprints of drivers: each driver is asked once.
type Health struct {
	drivers map[string]drivers.Driver
	known   map[string]drivers.Fingerprint
}

// NewHealth returns an empty cache.
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
