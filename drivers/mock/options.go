package mock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/drivers/schema"
	"taskrun/jobspec/taskenv"
)

// options are the options of the driver, for all its tasks.
type options struct {
	FSIsolation      string `cty:"fs_isolation"`               // of Capabilities
	Shutdown         bool   `cty:"shutdown_periodic_after"`    // the driver becomes undetected
	ShutdownDuration int64  `cty:"shutdown_periodic_duration"` // after so many nanoseconds
}

// isolations are the values of fs_isolation.
var isolations = []drivers.FSIsolation{
	drivers.FSIsolationNone, drivers.FSIsolationChroot, drivers.FSIsolationImage, drivers.FSIsolationUnveil,
}

// ConfigSchema describes the options of the driver.
func (d *Driver) ConfigSchema() hcldec.Spec { return schema.Of[options]() }

// SetConfig takes the options.
func (d *Driver) SetConfig(config cty.Value) error {
	var o options
	if err := taskenv.Decode(config, &o); err != nil {
		return err
	}
	isolation := drivers.FSIsolation(o.FSIsolation)
	switch {
	case isolation != "" && !slices.Contains(isolations, isolation):
		return fmt.Errorf("fs_isolation %q is not one of %q", isolation, isolations)
	case o.ShutdownDuration < 0:
		return errors.New("shutdown_periodic_duration is negative")
	case isolation != "":
		d.isolation = isolation
	}
	if o.Shutdown {
		d.disabledAt = time.Now().Add(time.Duration(o.ShutdownDuration))
	}
	return nil
}

// Fingerprint reports that the driver is healthy, until the time in its options.
func (d *Driver) Fingerprint(ctx context.Context) (<-chan drivers.Fingerprint, error) {
	healthy := drivers.Healthy("mock_driver")
	disabled := drivers.Disabled()
	left := time.Until(d.disabledAt)
	switch {
	case d.disabledAt.IsZero():
		return drivers.Steady(ctx, healthy)
	case left <= 0:
		return drivers.Steady(ctx, disabled)
	}
	ch := make(chan drivers.Fingerprint, 2) // no more are sent
	ch <- healthy
	go func() {
		defer close(ch)
		timer := time.NewTimer(left)
		defer timer.Stop()
		select {
		case <-timer.C:
			ch <- disabled
			<-ctx.Done()
		case <-ctx.Done():
		}
	}()
	return ch, nil
}
