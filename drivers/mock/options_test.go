package mock_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"taskrun/drivers"
	"taskrun/drivers/drivertest"
	"taskrun/drivers/mock"
)

func configured(t *testing.T, source string) (*mock.Driver, error) {
	t.Helper()
	d := mock.New()
	return d, d.SetConfig(drivertest.Config(t, d.ConfigSchema(), source))
}

func TestIsolation(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]drivers.FSIsolation{
		``: drivers.FSIsolationNone, `fs_isolation = "chroot"`: drivers.FSIsolationChroot,
		`fs_isolation = "image"`: drivers.FSIsolationImage, `fs_isolation = "unveil"`: drivers.FSIsolationUnveil,
	} {
		d, err := configured(t, source)
		if got := d.Capabilities().FSIsolation; got != want || err != nil {
			t.Errorf("with %q it is %q: %v", source, got, err)
		}
	}
}

func TestOptionsThatAreWrong(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`fs_isolation = "jail"`:            `fs_isolation "jail" is not one of ["none" "chroot" "image" "unveil"]`,
		`shutdown_periodic_duration = -1`:  "shutdown_periodic_duration is negative",
		`shutdown_periodic_duration = 1.5`: `shutdown_periodic_duration": value must be a whole number`,
	} {
		if _, err := configured(t, source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with %s the error is %v", source, err)
		}
	}
}

func TestTheDriverFallsAway(t *testing.T) {
	t.Parallel()
	for source, after := range map[string]time.Duration{
		`shutdown_periodic_after = true`:                                          0,
		"shutdown_periodic_after = true\nshutdown_periodic_duration = 3000000000": 3 * time.Second,
		"shutdown_periodic_duration = 3000000000":                                 -1,
	} {
		synctest.Test(t, func(t *testing.T) {
			d, err := configured(t, source)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			ch, err := d.Fingerprint(ctx)
			if err != nil {
				t.Fatal(err)
			}
			begin, fallen := time.Now(), time.Duration(-1)
			for f := range ch {
				switch {
				case f.Health == drivers.HealthUndetected && f.HealthDescription == "disabled" && len(f.Attributes) == 0:
					fallen = time.Since(begin)
				case f.Health != drivers.HealthHealthy:
					t.Errorf("it is %+v", f)
				}
			}
			if fallen != after || time.Since(begin) != time.Hour {
				t.Errorf("with %q it fell away after %v, and ended after %v", source, fallen, time.Since(begin))
			}
		})
	}
}
