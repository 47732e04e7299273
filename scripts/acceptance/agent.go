package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"taskrun/cmd/verify"
)

// startTime limits the time until an agent has a node that is ready.
const startTime = 30 * time.Second

// startAgent starts the nomad of a folder as an agent for one test. The caller must
// call stop.
func startAgent(ctx context.Context, bin, dir string, env []string) (address string, stop func(), err error) {
	scratch := filepath.Join(dir, "n")
	if err := os.Mkdir(scratch, 0o700); err != nil {
		return "", nil, err
	}
	agent, err := verify.StartAgent(ctx, verify.Start{
		Nomad: filepath.Join(bin, "nomad"), Env: env, Dir: scratch, Wait: startTime,
		More: fmt.Sprintf("data_dir = %q\n", filepath.Join(dir, "data")),
	})
	if err != nil {
		return "", nil, err
	}
	return agent.Server.Address, func() { _ = agent.Stop(context.WithoutCancel(ctx)) }, nil
}
