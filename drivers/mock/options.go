package mock

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/drivers/schema"
)

// options are those of the driver, for all its tasks.
type options struct {
	fsIsolation drivers.FSIsolation
	disabledAt  time.Time // zero: never
}

func defaults() options { return options{fsIsolation: drivers.FSIsolationNone} }

// isolations are what fs_isolation may say.
var isolations = []drivers.FSIsolation{
	drivers.FSIsolationNone, drivers.FSIsolationChroot, drivers.FSIsolationImage, drivers.FSIsolationUnveil,
}

// ConfigSchema describes the options of the driver.
func (d *Driver) ConfigSchema() hcldec.Spec {
	return schema.Join(
		schema.Optional(cty.String, "fs_isolation"),
		schema.Optional(cty.Bool, "shutdown_periodic_after"),
		schema.Optional(cty.Number, "shutdown_periodic_duration"))
}

// SetConfig takes the options: fs_isolation, what Capabilities says;
// shutdown_periodic_after, whether the driver is to fall away some time from
// now; shutdown_periodic_duration, when, in nanoseconds.
func (d *Driver) SetConfig(config cty.Value) error {
	r := reader{val: config}
	o := defaults()
	if isolation := drivers.FSIsolation(r.text("fs_isolation")); isolation != "" {
		if !slices.Contains(isolations, isolation) {
			return fmt.Errorf("fs_isolation %q is not one of %q", isolation, isolations)
		}
		o.fsIsolation = isolation
	}
	after := r.number("shutdown_periodic_duration")
	if after < 0 {
		return fmt.Errorf("shutdown_periodic_duration is negative")
	}
	if r.flag("shutdown_periodic_after") {
		o.disabledAt = time.Now().Add(time.Duration(after))
	}
	if r.err != nil {
		return r.err
	}
	d.options = o
	return nil
}

// Fingerprint says that the driver is healthy, until it falls away as its
// options tell.
func (d *Driver) Fingerprint(ctx context.Context) (<-chan drivers.Fingerprint, error) {
	healthy := drivers.Healthy("mock_driver")
	disabled := drivers.Disabled()
	left := time.Until(d.options.disabledAt)
	switch {
	case d.options.disabledAt.IsZero():
		return drivers.Steady(ctx, healthy)
	case left <= 0:
		return drivers.Steady(ctx, disabled)
	}
	ch := make(chan drivers.Fingerprint, 2) // for all that will ever be said
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
