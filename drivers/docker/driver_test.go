package docker_test

import (
	"fmt"
	"strings"
	"testing"

	"taskrun/drivers"
	"taskrun/drivers/docker"
	"taskrun/drivers/docker/dockertest"
	"taskrun/drivers/drivertest"
)

func TestDriver(t *testing.T) {
	t.Parallel()
	dockertest.Need(t)
	drivertest.Run(t, drivertest.Harness{
		New: func() drivers.Driver { return docker.New(docker.Config{}) },
		Script: func(s drivertest.Script) string {
			if !s.Forever {
				return shell(drivertest.Shell(s))
			}
			// The first process of a container only gets signals that it
			// handles.
			stop := "trap 'exit 0' INT TERM\n"
			if s.Stubborn {
				stop = "trap '' INT\n"
			}
			s.Forever = false
			return shell(stop + strings.TrimSuffix(drivertest.Shell(s), "exit 0") + "sleep 1000 & wait $!")
		},
		Command: drivertest.ShellCommand,
		Size:    drivertest.ShellSize(),
		Many:    10,
		CodeError: func(code int) string {
			return fmt.Sprintf("Docker container exited with non-zero exit code: %d", code)
		},
	})
}

// shell returns the config block of a task that runs a script.
func shell(script string) string {
	return fmt.Sprintf("image = %q\ncommand = \"/bin/sh\"\nargs = [\"-c\", %q]\n", dockertest.Image, script)
}
