package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// agentConfig keeps the agent from asking anybody outside: no update check, no
// clouds, no Consul, no Vault.
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

// startNomad starts a real Nomad's agent in dev mode, on the loopback interface
// only, and returns when it is ready for jobs. The runner is the nomad command
// that submits a job to it. The agent must be stopped.
func startNomad(path, dir string) (runner, *exec.Cmd, error) {
	ports, err := freePorts(3)
	if err != nil {
		return runner{}, nil, err
	}
	config := filepath.Join(dir, "agent.hcl")
	text := fmt.Sprintf(agentConfig, ports[0], ports[1], ports[2])
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return runner{}, nil, err
	}
	agent := exec.Command(path, "agent", "-dev", "-bind=127.0.0.1", "-config="+config)
	log, err := agent.StdoutPipe()
	if err != nil {
		return runner{}, nil, err
	}
	if err := agent.Start(); err != nil {
		return runner{}, nil, err
	}
	lines, last, ready := bufio.NewScanner(log), "", false
	for !ready && lines.Scan() {
		last = lines.Text()
		ready = strings.Contains(last, "node registration complete")
	}
	if !ready {
		stop(agent)
		return runner{}, nil, fmt.Errorf("cannot start %q: its agent ended, with %q", path, last)
	}
	go func() { _, _ = io.Copy(io.Discard, log) }() // or it would block
	address := fmt.Sprintf("-address=http://127.0.0.1:%d", ports[0])
	jobs := 0
	return runner{
		name: "nomad", path: path, agent: true,
		file: func(tasks []string) string {
			jobs++ // a job that has ended would only be updated
			return strings.Replace(jobFile(tasks), `"bench"`, fmt.Sprintf(`"bench%d"`, jobs), 1)
		},
		args: func(_, file string) []string { return []string{"job", "run", "-detach", address, file} },
	}, agent, nil
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
