package rawexec_test

import (
	"fmt"
	"strings"
	"testing"

	"taskrun/drivers"
	"taskrun/drivers/drivertest"
	"taskrun/drivers/rawexec"
)

func TestDriver(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, drivertest.Harness{
		New: func() drivers.Driver { return rawexec.New(rawexec.Config{}) },
		Script: func(s drivertest.Script) string {
			var lines []string
			if s.Stubborn {
				lines = append(lines, `trap "" INT`)
			}
			lines = append(lines,
				fmt.Sprintf("printf '%%s' '%s'", s.Stdout),
				fmt.Sprintf("printf '%%s' '%s' >&2", s.Stderr))
			if s.Forever {
				lines = append(lines, "exec sleep 1000")
			}
			return shell(strings.Join(append(lines, fmt.Sprintf("exit %d", s.ExitCode)), "\n"))
		},
	})
}

// shell returns the config block of a task that runs a script.
func shell(script string) string {
	return fmt.Sprintf("command = \"/bin/sh\"\nargs = [\"-c\", %q]\n", script)
}
