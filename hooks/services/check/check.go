// Package check carries out the checks of services, see
// https://developer.hashicorp.com/nomad/docs/job-specification/check: one
// probe at a time. The caller decides how often to probe; Restart decides when a
// failing check restarts its task.
package check

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"strconv"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
)

// The statuses of a check, in Nomad's words.
const (
	Pending = "pending"
	Success = "success"
	Failure = "failure"
)

// The modes of a check: readiness does not count for the health of an
// allocation.
const (
	Healthiness = "healthiness"
	Readiness   = "readiness"
)

// Waiting is the output of a check that has not run yet.
const Waiting = "nomad: waiting to run"

// maxOutput is how much of an answer is kept, in bytes, as in Nomad.
const maxOutput = 3 << 10

// Check is a check of a service, with everything interpolated.
type Check struct {
	api.ServiceCheck
	ID      string
	Service string // its name
	Group   string // name of the allocation, as Nomad has it
	Task    string // "" for a service of the group
	Address string // host that is probed; not for scripts
	Port    int

	// Exec runs a script check's command in its task.
	Exec func(ctx context.Context, cmd []string) (*drivers.ExecTaskResult, error)
}

// Mode tells what the check is about.
func (c *Check) Mode() string {
	if c.OnUpdate == api.OnUpdateIgnore {
		return Readiness
	}
	return Healthiness
}

// Result is the result of one probe.
type Result struct {
	Status string // Success or Failure
	Code   int    // of an HTTP answer
	Output string
	// Warning: a script's exit code was 1, which Consul calls a warning.
	Warning bool
}

func (c *Check) hostPort() string { return net.JoinHostPort(c.Address, strconv.Itoa(c.Port)) }

// SetID gives the check its ID, which tells it from every other check of every
// allocation and stays the same as long as the check does: 64 digits, as in Nomad.
func (c *Check) SetID(alloc string) {
	h := sha256.New()
	for _, part := range []any{
		alloc, c.Group, c.Task, c.Service, c.Name, c.Type, c.PortLabel, c.OnUpdate, c.AddressMode,
		c.Interval, c.Timeout, c.Protocol, c.Path, c.Method, c.TLSSkipVerify, c.Command, c.Args,
		c.Header, c.Body, c.GRPCService, c.GRPCUseTLS, c.TLSServerName,
	} {
		fmt.Fprintf(h, "%v\x00", part)
	}
	c.ID = hex.EncodeToString(h.Sum(nil))
}
