package drivers

import (
	"context"
	"fmt"
	"time"
)

// How long Follow waits before it opens a stream again: the first time, and at
// most, as Nomad does.
const (
	firstPause = 5 * time.Second
	maxPause   = 2 * time.Minute
)

// Follow hands every fingerprint of a driver to report, until ctx ends. A
// stream that ends or cannot be opened is opened again after a pause, which
// doubles as long as nothing comes of it; meanwhile the driver is unhealthy.
func Follow(ctx context.Context, d Driver, report func(Fingerprint)) {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		ch, err := d.Fingerprint(ctx)
		if err == nil {
			for f := range ch {
				report(f)
				pause = firstPause
			}
			err = fmt.Errorf("it has stopped telling")
		}
		if ctx.Err() != nil {
			return
		}
		report(Fingerprint{
			Health:            HealthUnhealthy,
			HealthDescription: fmt.Sprintf("the health of the driver is not known: %v", err),
		})
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}
