package drivers

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// firstPause and maxPause bound how long Follow waits before it opens a stream
// again, as in Nomad.
const (
	firstPause = 5 * time.Second
	maxPause   = 2 * time.Minute
)

// Follow calls report with every fingerprint of a driver, until ctx ends. If a
// stream ends or cannot be opened, the driver is unhealthy, and Follow opens
// another one after a pause, which doubles until a fingerprint arrives.
func Follow(ctx context.Context, d Driver, report func(Fingerprint)) {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		ch, err := d.Fingerprint(ctx)
		if err == nil {
			for f := range ch {
				report(f)
				pause = firstPause
			}
			err = errors.New("the driver stopped reporting it")
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
