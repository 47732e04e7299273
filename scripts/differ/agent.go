package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"taskrun/cmd/verify"
	"taskrun/jobspec/stub"
)

// startAgent returns the agent at the address, or starts one, which provides the
// host volume "hv". The caller must call end.
func startAgent(ctx context.Context, opts options, scratch string) (s *side, end func(), err error) {
	address, end, dir := opts.address, func() {}, filepath.Join(scratch, "n")
	if address == "" {
		volume := filepath.Join(scratch, "hv")
		if err := errors.Join(os.Mkdir(dir, 0o711), os.Mkdir(volume, 0o777)); err != nil {
			return nil, nil, err
		}
		more, err := os.ReadFile(filepath.Join(opts.dir, "agent.hcl"))
		if optional(err) != nil {
			return nil, nil, err
		}
		agent, err := verify.StartAgent(ctx, verify.Start{
			Nomad: opts.nomad, Env: os.Environ(), Dir: dir, Wait: verify.StartTime,
			Node: verify.Node{HostVolumes: map[string]stub.HostVolume{"hv": {Path: volume}}},
			More: strings.ReplaceAll(string(more), "@R@", scratch),
		})
		if err != nil {
			return nil, nil, err
		}
		address, end = agent.Server.Address, func() { _ = agent.Stop(context.WithoutCancel(ctx)) }
	}
	if s, err = newSide(address, opts.nomad); err != nil {
		end()
		return nil, nil, err
	}
	if opts.address == "" {
		s.dirs = func(alloc string) string { return filepath.Join(dir, "*", alloc) }
	}
	s.register = func(ctx context.Context, s *side, dir, name string) string {
		c := s.command(ctx, dir, "job run -detach "+name+".nomad.hcl")
		return c.Stdout + c.Stderr
	}
	return s, end, nil
}
