package docker

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/moby/moby/client"

	"taskrun/drivers"
	"taskrun/drivers/docker/daemon"
	"taskrun/drivers/docker/settings"
)

// Front is the part of a Nomad driver for containers that is its own. Driver does
// the rest.
type Front struct {
	Name   string // of the driver
	Engine string // that it is for, in messages
	Remedy string // for an engine that does not answer
	// Find returns the engine at a host; empty: that of the options or of the
	// environment.
	Find func(host string, o *settings.Options) (daemon.Endpoint, error)
	// Decode decodes the config block of a task.
	Decode func(o *settings.Options, cfg *drivers.TaskConfig) (*settings.Config, error)
	// Describe completes the fingerprint of an engine that answers.
	Describe func(ctx context.Context, cli *client.Client, version client.ServerVersionResult, f *drivers.Fingerprint) error

	CodeError   func(code int) error // Nomad's error for an exit code
	OutOfMemory error                // Nomad's error for a container that exceeded its memory
}

var dockerFront = &Front{
	Name: "docker", Engine: "Docker", Remedy: "start Docker or set DOCKER_HOST",
	Find: func(host string, o *settings.Options) (daemon.Endpoint, error) {
		return daemon.Find(host, o.TLS, os.Getenv), nil
	},
	Decode: func(o *settings.Options, cfg *drivers.TaskConfig) (*settings.Config, error) {
		return o.Decode(cfg.Config)
	},
	Describe: func(_ context.Context, _ *client.Client, _ client.ServerVersionResult, f *drivers.Fingerprint) error {
		f.Attributes["driver.docker.privileged.enabled"], f.Attributes["driver.docker.volumes.enabled"] = "true", "true"
		return nil
	},
	CodeError: func(code int) error {
		if code == 0 {
			return nil
		}
		return fmt.Errorf("Docker container exited with non-zero exit code: %d", code) //nolint:staticcheck,err113 // Nomad's words
	},
	OutOfMemory: errors.New("OOM Killed"),
}
