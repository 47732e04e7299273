package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
)

// agentConfig disables all outside connections of the agent: update check,
// clouds, Consul, Vault.
const agentConfig = `
disable_update_check = true
ports {
  http = %d
  rpc  = %d
  serf = %d
}
client {
  options = {
    "fingerprint.denylist" = "env_aws,env_azure,env_digitalocean,env_gce,consul,vault"
  }
}
`

// nomad is a real Nomad: the command submits a job to an agent in dev mode,
// which is already running and listens only on the loopback interface.
func nomad(path string) runner {
	var address string
	jobs := 0
	return runner{
		name: "nomad", path: path,
		start: func() (stop func(), err error) {
			address, stop, err = startAgent(path)
			return stop, err
		},
		file: func(tasks []string) string {
			jobs++ // the agent would only update a job that has ended
			return strings.Replace(jobFile(tasks), `"bench"`, fmt.Sprintf(`"bench%d"`, jobs), 1)
		},
		args: func(_, file string) []string {
			return []string{"job", "run", "-detach", "-address=" + address, file}
		},
		exec: func(command []string) []string {
			job := fmt.Sprintf("bench%d", jobs)
			return append([]string{path, "alloc", "exec", "-t=false", "-address=" + address, "-task", "t0", "-job", job}, command...)
		},
	}
}

// startAgent returns the address of an agent that is ready for jobs.
func startAgent(path string) (address string, stopAgent func(), err error) {
	config, err := os.CreateTemp("", "bench*.hcl")
	if err != nil {
		return "", nil, err
	}
	defer os.Remove(config.Name())
	defer config.Close()
	ports, err := freePorts(3)
	if err != nil {
		return "", nil, err
	}
	if _, err := fmt.Fprintf(config, agentConfig, ports[0], ports[1], ports[2]); err != nil {
		return "", nil, err
	}
	agent := exec.Command(path, "agent", "-dev", "-bind=127.0.0.1", "-config="+config.Name())
	log, err := agent.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := agent.Start(); err != nil {
		return "", nil, err
	}
	lines, last, ready := bufio.NewScanner(log), "", false
	for !ready && lines.Scan() {
		last = lines.Text()
		ready = strings.Contains(last, "node registration complete")
	}
	if !ready {
		stop(agent)
		return "", nil, fmt.Errorf("cannot start %q: its agent ended, with %q", path, last)
	}
	go func() { _, _ = io.Copy(io.Discard, log) }() // or it would block
	return fmt.Sprintf("http://127.0.0.1:%d", ports[0]), func() { stop(agent) }, nil
}

func freePorts(n int) ([]int, error) {
	var ports []int
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
