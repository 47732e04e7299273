package docker_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"taskrun/drivers/docker/dockertest"
)

func TestMain(m *testing.M) {
	os.Exit(dockertest.Main(m, func() error { return goleak.Find() }))
}
