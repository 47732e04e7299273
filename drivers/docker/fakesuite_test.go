package docker

import (
	"fmt"
	"strings"
	"testing"

	"taskrun/drivers"
	"taskrun/drivers/drivertest"
)

func script(text string) string {
	return fmt.Sprintf("image = \"image:1\"\ncommand = \"/bin/sh\"\nargs = [\"-c\", %q]\n", text)
}

// The driver passes the suite as far as possible without a real engine.
func TestDriverWithoutAnEngine(t *testing.T) {
	t.Parallel()
	e := newFakeEngine(t)
	drivertest.Run(t, drivertest.Harness{
		New: func() drivers.Driver { return New(Config{Host: e.host()}) },
		Script: func(s drivertest.Script) string {
			if !s.Forever {
				return script(drivertest.Shell(s))
			}
			stop := "trap 'exit 0' INT TERM\n"
			if s.Stubborn {
				stop = "trap '' INT\n"
			}
			s.Forever = false
			return script(stop + strings.TrimSuffix(drivertest.Shell(s), "exit 0") + "sleep 1000 & wait $!")
		},
		Command: drivertest.ShellCommand,
		Size:    drivertest.ShellSize(),
		Many:    10,
		CodeError: func(code int) string {
			return fmt.Sprintf("Docker container exited with non-zero exit code: %d", code)
		},
	})
}
