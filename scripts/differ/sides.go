package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/report/recording"
)

const (
	// startTime limits the time until an agent accepts jobs.
	startTime = time.Minute
	// endTime limits the time until a process ends.
	endTime = 20 * time.Second
)

// side is an agent or a run on which jobs are played.
type side struct {
	address string
	nomad   string // the CLI
	// namespace is the namespace of the job; empty for the default one.
	namespace string
	client    *api.Client
	// dirs returns a pattern of the directory of an allocation; nil if
	// directories are not accessible.
	dirs func(alloc string) string
	// register submits the job file, and returns the output. nil: the job is
	// already running.
	register func(ctx context.Context, s *side, dir, name string) string
}

func newSide(address, nomad string) (*side, error) {
	client, err := api.NewClient(&api.Config{Address: address})
	return &side{address: address, nomad: nomad, client: client}, err
}

var namespace = regexp.MustCompile(`(?m)^ {0,2}namespace *= *"([^"]+)"`)

// in returns the side in the namespace of a job file. It creates the namespace
// on an agent.
func (s *side) in(ctx context.Context, jobFile string) (*side, error) {
	text, err := os.ReadFile(jobFile)
	if err != nil {
		return nil, err
	}
	found := namespace.FindSubmatch(text)
	if found == nil {
		return s, nil
	}
	moved := *s
	moved.namespace = string(found[1])
	if s.register != nil {
		s.command(ctx, "", "namespace apply "+moved.namespace)
	}
	moved.client, err = api.NewClient(&api.Config{Address: s.address, Namespace: moved.namespace})
	return &moved, err
}

// agentConfig configures an agent for a single test: with all built-in drivers,
// and without cloud fingerprinters.
const agentConfig = `
ports {
  http = %d
  rpc  = %d
  serf = %d
}
client {
  alloc_dir = %q
  options   = { "fingerprint.denylist" = "env_aws,env_gce,env_azure,env_digitalocean" }
  host_volume "hv" {
    path = %q
  }
}
limits {
  http_max_conns_per_client = 0
}
plugin "raw_exec" {
  config {
    enabled = true
  }
}
`

// startAgent returns the agent at the address, or starts one. The caller must
// call end.
func startAgent(ctx context.Context, opts options, scratch string) (_ *side, end func(), err error) {
	address, end := opts.address, func() {}
	allocs := ""
	if address == "" {
		allocs = filepath.Join(scratch, "alloc")
		if address, end, err = spawnAgent(opts, scratch, allocs); err != nil {
			return nil, nil, err
		}
	}
	s, err := newSide(address, opts.nomad)
	if err == nil {
		err = s.ready(ctx)
	}
	if err != nil {
		end()
		return nil, nil, fmt.Errorf("cannot use the agent at %s: %w", address, err)
	}
	s.dirs = func(alloc string) string { return filepath.Join(allocs, alloc) }
	if allocs == "" {
		s.dirs = nil
	}
	s.register = func(ctx context.Context, s *side, dir, name string) string {
		c := s.command(ctx, dir, "job run -detach "+name+".nomad.hcl")
		return c.Stdout + c.Stderr
	}
	return s, end, nil
}

func spawnAgent(opts options, scratch, allocs string) (address string, end func(), err error) {
	ports, err := freePorts(3)
	if err != nil {
		return "", nil, err
	}
	volume := filepath.Join(scratch, "hv")
	config := fmt.Sprintf(agentConfig, ports[0], ports[1], ports[2], allocs, volume)
	more, err := os.ReadFile(filepath.Join(opts.dir, "agent.hcl"))
	if err = errors.Join(optional(err), os.Mkdir(volume, 0o777)); err != nil {
		return "", nil, err
	}
	config += strings.ReplaceAll(string(more), "@R@", scratch)
	file := filepath.Join(scratch, "agent.hcl")
	log, err := os.Create(filepath.Join(scratch, "agent.log"))
	if err == nil {
		defer log.Close()
		err = os.WriteFile(file, []byte(config), 0o600)
	}
	if err != nil {
		return "", nil, err
	}
	c := exec.Command(opts.nomad, "agent", "-dev", "-config", file)
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("http://127.0.0.1:%d", ports[0]), func() { interrupt(c) }, nil
}

// interrupt ends a process that was started.
func interrupt(c *exec.Cmd) {
	_ = c.Process.Signal(syscall.SIGINT)
	kill := time.AfterFunc(endTime, func() { _ = c.Process.Kill() })
	defer kill.Stop()
	_ = c.Wait() // its exit code is no difference
}

func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// ready waits until there is a node that accepts jobs.
func (s *side) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for {
		nodes, _, err := s.client.Nodes().List((&api.QueryOptions{}).WithContext(ctx))
		if err == nil && len(nodes) > 0 && nodes[0].Status == api.NodeStatusReady {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-again.C:
		}
	}
}

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
	binary, err := filepath.Abs(opts.taskrun)
	if err != nil {
		return recording.Recording{}, err
	}
	if !strings.Contains(opts.taskrun, "/") {
		binary = opts.taskrun
	}
	c := exec.Command(binary, "up", "--output", "json", "--data-dir", data, "keep.nomad.hcl", name+".nomad.hcl")
	c.Dir, c.Env = scratch, append(os.Environ(), "XDG_RUNTIME_DIR="+sockets)
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
		_, _ = lines.WriteTo(discard{})
		_ = c.Wait()
		return recording.Recording{Registered: first + stderr.String()}, nil
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = lines.WriteTo(discard{})
	}()
	defer func() {
		interrupt(c)
		<-drained
	}()
	s, err := newSide("unix://"+run.Socket, opts.nomad)
	if err != nil {
		return recording.Recording{}, err
	}
	s.dirs = func(alloc string) string { return filepath.Join(data, "jobs/*/runs/*/alloc", alloc) }
	return s.play(ctx, name, scratch, actions, opts.settle)
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
