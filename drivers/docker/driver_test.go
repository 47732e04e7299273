package docker_test

import (
	"fmt"
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
		New:     func() drivers.Driver { return docker.New(docker.Config{}) },
		Script:  func(s drivertest.Script) string { return dockertest.Shell(drivertest.FirstProcess(s)) },
		Command: drivertest.ShellCommand,
		Size:    drivertest.ShellSize(),
		Many:    10,
		CodeError: func(code int) string {
			return fmt.Sprintf("Docker container exited with non-zero exit code: %d", code)
		},
	})
}
