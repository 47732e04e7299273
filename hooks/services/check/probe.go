package check

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
)

// Probe carries out a check once, within its timeout.
func (c *Check) Probe(ctx context.Context) Result {
	ctx, cancel := context.WithTimeoutCause(ctx, c.Timeout, fmt.Errorf("no answer within %v", c.Timeout))
	defer cancel()
	r, err := c.probe(ctx)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w: %w", cause, err)
		}
		return Result{Status: Failure, Output: "nomad: " + err.Error()}
	}
	if len(r.Output) > maxOutput {
		r.Output = r.Output[:maxOutput]
	}
	return r
}

func (c *Check) probe(ctx context.Context) (Result, error) {
	switch c.Type {
	case "tcp":
		return c.tcp(ctx)
	case "http":
		return c.http(ctx)
	case "grpc":
		return c.grpc(ctx)
	case "script":
		return c.script(ctx)
	default:
		return Result{}, fmt.Errorf("checks of type %q are not run here", c.Type)
	}
}

// Target returns what the check probes: a URL, HOST:PORT, or the command of a
// script.
func (c *Check) Target() string {
	switch c.Type {
	case "http":
		if target, err := c.url(); err == nil {
			return target
		}
	case "script":
		return strings.Join(append([]string{c.Command}, c.Args...), " ")
	}
	return c.hostPort()
}

func (c *Check) tcp(ctx context.Context) (Result, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", c.hostPort())
	if err != nil {
		return Result{Status: Failure, Output: err.Error()}, nil //nolint:nilerr // a closed port is a result
	}
	_ = conn.Close()
	return Result{Status: Success, Output: "nomad: tcp ok"}, nil
}

// script runs a command in the task: 0 passes, 1 warns, all else fails, as in
// Consul.
func (c *Check) script(ctx context.Context) (Result, error) {
	if c.Exec == nil {
		return Result{}, errors.New("the task's driver cannot run commands in it")
	}
	ended, err := c.Exec(ctx, append([]string{c.Command}, c.Args...))
	if err != nil {
		return Result{}, err
	}
	r := Result{Status: Success, Output: string(ended.Output), Code: ended.ExitCode}
	if !ended.Successful() {
		r.Status, r.Warning = Failure, ended.ExitCode == 1 && ended.Signal == 0
	}
	return r, nil
}
