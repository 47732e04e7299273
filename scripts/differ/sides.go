package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"taskrun/cmd/report/recording"
	"taskrun/cmd/verify"
	"taskrun/jobspec/stub"
)

// endTime limits the time until a run ends.
const endTime = 20 * time.Second

// keep is a job that only waits, so that a run outlives the compared job.
const keep = `job "keep" {
  type = "batch"
  parameterized {}
  group "g" {
    task "t" {
      driver = "mock_driver"
    }
  }
}
`

// playLocally plays a job on a run of taskrun. If taskrun refuses the job, the
// recording says so.
func playLocally(ctx context.Context, opts options, name, scratch string, actions []action) (recording.Recording, error) {
	sockets, err := os.MkdirTemp("", "dr") // a socket needs a short path
	if err != nil {
		return recording.Recording{}, err
	}
	defer os.RemoveAll(sockets)
	data := filepath.Join(scratch, "data")
	if err := os.WriteFile(filepath.Join(scratch, "keep.nomad.hcl"), []byte(keep), 0o600); err != nil {
		return recording.Recording{}, err
	}
	binary, err := exec.LookPath(opts.taskrun)
	if err == nil {
		binary, err = filepath.Abs(binary)
	}
	if err != nil {
		return recording.Recording{}, err
	}
	ctx, interrupt := context.WithCancel(ctx)
	defer interrupt()
	c := exec.CommandContext(ctx, binary, "up", "--output", "json", "--data-dir", data, "keep.nomad.hcl", name+".nomad.hcl")
	c.Dir, c.Env = scratch, append(os.Environ(), "XDG_RUNTIME_DIR="+sockets)
	c.Cancel, c.WaitDelay = func() error { return c.Process.Signal(os.Interrupt) }, endTime
	var stderr strings.Builder
	c.Stderr = &stderr
	stdout, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return recording.Recording{}, err
	}
	lines := bufio.NewReader(stdout)
	first, _ := lines.ReadString('\n')
	var run struct{ Type, Socket string }
	if json.Unmarshal([]byte(first), &run) != nil || run.Type != "run" {
		_, _ = io.Copy(io.Discard, lines)
		_ = c.Wait()
		return recording.Recording{Registered: first + stderr.String()}, nil
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, lines)
	}()
	defer func() {
		interrupt()
		<-drained
		_ = c.Wait() // its exit code is no difference
	}()
	s, err := newSide("unix://"+run.Socket, opts.nomad)
	if err != nil {
		return recording.Recording{}, err
	}
	s.dirs = func(alloc string) string { return filepath.Join(data, "jobs/*/runs/*/alloc", alloc) }
	return s.play(ctx, name, scratch, actions, opts.settle)
}

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
