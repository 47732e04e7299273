package mock_test

import (
	"fmt"
	"testing"

	"taskrun/drivers"
	"taskrun/drivers/drivertest"
	"taskrun/drivers/mock"
)

func TestDriver(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, drivertest.Harness{
		New: func() drivers.Driver { return mock.New() },
		Script: func(s drivertest.Script) string {
			config := fmt.Sprintf("stdout_string = %q\nstderr_string = %q\nexit_code = %d\n", s.Stdout, s.Stderr, s.ExitCode)
			if s.Forever {
				config += "run_for = \"1h\"\n"
			}
			if s.Stubborn {
				config += "kill_after = \"1h\"\n"
			}
			return config
		},
	})
}
