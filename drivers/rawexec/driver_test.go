package rawexec_test

import (
	"fmt"
	"testing"

	"taskrun/drivers"
	"taskrun/drivers/drivertest"
	"taskrun/drivers/rawexec"
)

func TestDriver(t *testing.T) {
	t.Parallel()
	drivertest.Run(t, drivertest.Harness{
		New:     func() drivers.Driver { return rawexec.New() },
		Script:  func(s drivertest.Script) string { return shell(drivertest.Shell(s)) },
		Command: drivertest.ShellCommand,
		Size:    drivertest.ShellSize(),
	})
}

// shell returns the config block of a task that runs a script.
func shell(script string) string {
	return fmt.Sprintf("command = \"/bin/sh\"\nargs = [\"-c\", %q]\n", script)
}
