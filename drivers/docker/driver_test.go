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
			var lines []string
			if s.Forever {
				lines = append(lines, "trap 'exit 0' INT TERM")
			}
			if s.Stubborn {
				lines = append(lines, `trap "" INT`)
			}
			lines = append(lines,
				fmt.Sprintf("printf '%%s' '%s'", s.Stdout),
				fmt.Sprintf("printf '%%s' '%s' >&2", s.Stderr))
			if s.Forever {
				lines = append(lines, "sleep 1000 & wait $!")
			}
			return shell(strings.Join(append(lines, fmt.Sprintf("exit %d", s.ExitCode)), "\n"))
		},
		CodeError: func(code int) string {
			return fmt.Sprintf("Docker container exited with non-zero exit code: %d", code)
		},
	})
}

// shell returns the config block of a task that runs a script.
func shell(script string) string {
	return fmt.Sprintf("image = %q\ncommand = \"/bin/sh\"\nargs = [\"-c\", %q]\n", dockertest.Image, script)
}
