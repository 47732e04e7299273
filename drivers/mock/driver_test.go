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
			if c := s.Command; c != nil {
				config += fmt.Sprintf("exec_command {\nstdout_string = %q\nstderr_string = %q\nexit_code = %d\n", c.Stdout, c.Stderr, c.ExitCode)
				if c.Forever {
					config += "run_for = \"1h\"\n"
				}
				config += "}\n"
			}
			return config
		},
		Command: func(c drivertest.Command) []string {
			if c.Echo {
				return []string{"showinput"}
			}
			return []string{"command"}
		},
		Captured: func(argv []string) string { return fmt.Sprintf(`Exec("task", %q)`, argv) },
	})
}
