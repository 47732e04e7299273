package docker

import (
	"fmt"
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
		New:     func() drivers.Driver { return New(Config{Host: e.host()}) },
		Script:  func(s drivertest.Script) string { return script(drivertest.FirstProcess(s)) },
		Command: drivertest.ShellCommand,
		Size:    drivertest.ShellSize(),
		Many:    10,
		CodeError: func(code int) string {
			return fmt.Sprintf("Docker container exited with non-zero exit code: %d", code)
		},
	})
}
