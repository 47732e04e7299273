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
	"taskrun/drivers/docker/daemon"
)

// fingerprintPeriod is how often the driver looks at the engine, as in Nomad.
const fingerprintPeriod = 30 * time.Second

// pingTime is how long the engine may take to answer a ping. On a busy machine
// Podman takes longer to describe itself; see daemon.ReplyTime.
const pingTime = 10 * time.Second

// Fingerprint checks the engine now and periodically.
func (e *engine) Fingerprint(ctx context.Context) (<-chan drivers.Fingerprint, error) {
	ch := make(chan drivers.Fingerprint)
	go func() {
		defer close(ch)
		tick := time.NewTicker(fingerprintPeriod)
		defer tick.Stop()
		for last := (drivers.Fingerprint{}); ; {
			if now := e.look(ctx); !same(now, last) {
				select {
				case ch <- now:
				case <-ctx.Done():
					return
				}
				last = now
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ch, nil
}

func same(a, b drivers.Fingerprint) bool {
	return a.Health == b.Health && a.HealthDescription == b.HealthDescription && maps.Equal(a.Attributes, b.Attributes)
}

// look asks the engine for its version. Without an answer the driver is
// undetected, and the description is the error.
func (e *engine) look(ctx context.Context) drivers.Fingerprint {
	absent := func(err error) drivers.Fingerprint {
		return drivers.Fingerprint{Health: drivers.HealthUndetected, HealthDescription: err.Error()}
	}
	cli, err := e.connect()
	if err != nil {
		return absent(err)
	}
	ping, answered := context.WithTimeout(ctx, pingTime)
	defer answered()
	if _, err := cli.Ping(ping, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return absent(fmt.Errorf("no %s engine answers at %s (%w): %s", e.front.Engine, cli.DaemonHost(), reason(err), e.front.Remedy))
	}
	ctx, cancel := context.WithTimeout(ctx, daemon.ReplyTime)
	defer cancel()
	version, err := cli.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return absent(fmt.Errorf("cannot ask the %s engine at %s for its version: %w", e.front.Engine, cli.DaemonHost(), err))
	}
	if version.Os != "linux" {
		return absent(fmt.Errorf("the %s engine at %s runs containers of %q, not of Linux", e.front.Engine, cli.DaemonHost(), version.Os))
	}
	f := drivers.Healthy(e.front.Name)
	f.Attributes["driver."+e.front.Name+".version"] = version.Version
	if err := e.front.Describe(ctx, cli, version, &f); err != nil {
		return absent(err)
	}
	return f
}

// reason returns why the engine cannot be reached, without the advice of its
// client.
func reason(err error) error {
	if failure, ok := errors.AsType[*net.OpError](err); ok {
		return failure.Err
	}
	return err
}
