package docker_test

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"taskrun/drivers/docker/dockertest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	dockertest.Close()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
