package docker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"time"

	"github.com/moby/moby/client"

	"taskrun/drivers"
)

// fingerprintPeriod is how often the driver looks at the engine, as in Nomad.
const fingerprintPeriod = 30 * time.Second

// pingTime is how long the engine may take to answer.
const pingTime = 5 * time.Second

// Fingerprint checks the engine now and periodically.
func (d *Driver) Fingerprint(ctx context.Context) (<-chan drivers.Fingerprint, error) {
	ch := make(chan drivers.Fingerprint)
	go func() {
		defer close(ch)
		tick := time.NewTicker(fingerprintPeriod)
		defer tick.Stop()
		last := d.look(ctx)
		for send := true; ; {
			if send {
				select {
				case ch <- last:
				case <-ctx.Done():
					return
				}
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			now := d.look(ctx)
			send = now.Health != last.Health || now.HealthDescription != last.HealthDescription ||
				!maps.Equal(now.Attributes, last.Attributes)
			last = now
		}
	}()
	return ch, nil
}

// look asks the engine for its version. Without an answer the driver is
// undetected, and the description is the error.
func (d *Driver) look(ctx context.Context) drivers.Fingerprint {
	absent := func(err error) drivers.Fingerprint {
		return drivers.Fingerprint{Health: drivers.HealthUndetected, HealthDescription: err.Error()}
	}
	cli, err := d.connect()
	if err != nil {
		return absent(err)
	}
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	if _, err := cli.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return absent(fmt.Errorf("no Docker engine answers at %s (%w): start Docker or set DOCKER_HOST", cli.DaemonHost(), reason(err)))
	}
	version, err := cli.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return absent(fmt.Errorf("cannot ask the Docker engine at %s for its version: %w", cli.DaemonHost(), err))
	}
	if version.Os != "linux" {
		return absent(fmt.Errorf("the Docker engine at %s runs containers of %q, not of Linux", cli.DaemonHost(), version.Os))
	}
	return drivers.Fingerprint{
		Health:            drivers.HealthHealthy,
		HealthDescription: "Healthy",
		Attributes: map[string]string{
			"driver.docker":                    "1",
			"driver.docker.version":            version.Version,
			"driver.docker.privileged.enabled": "true",
			"driver.docker.volumes.enabled":    "true",
		},
	}
}

// reason returns why the engine cannot be reached, without the advice of its
// client.
func reason(err error) error {
	if failure, ok := errors.AsType[*net.OpError](err); ok {
		return failure.Err
	}
	return err
}
