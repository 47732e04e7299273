package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	// startTime limits the time until an agent has a node that is ready.
	startTime = 30 * time.Second
	// endTime limits the time until an agent ends.
	endTime = 10 * time.Second
)

// startAgent starts an agent for one test. The caller must call stop.
func startAgent(ctx context.Context, dir string, env []string) (address string, stop func(), err error) {
	ports, err := freePorts(3)
	if err != nil {
		return "", nil, err
	}
	config, err := json.Marshal(map[string]any{
		"data_dir":             filepath.Join(dir, "data"),
		"disable_update_check": true,
		"ports":                map[string]int{"http": ports[0], "rpc": ports[1], "serf": ports[2]},
		"client": map[string]any{"options": map[string]string{
			"fingerprint.denylist": "env_aws,env_gce,env_azure,env_digitalocean",
		}},
	})
	if err != nil {
		return "", nil, err
	}
	file := filepath.Join(dir, "agent.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return "", nil, err
	}
	var output bytes.Buffer
	c := exec.Command("/bin/sh", "-c", `exec nomad agent -dev -config "$0"`, file)
	c.Env, c.Stdout, c.Stderr = env, &output, &output
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		return "", nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Wait()
	}()
	stop = func() {
		_ = c.Process.Signal(os.Interrupt)
		select {
		case <-ended:
		case <-time.After(endTime):
			_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
			<-ended
		}
	}
	address = fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	if err := ready(ctx, address, ended); err != nil {
		stop()
		return "", nil, fmt.Errorf("%w\n%s", err, output.Bytes())
	}
	return address, stop, nil
}

// ready waits until the node of the agent is ready.
func ready(ctx context.Context, address string, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		if status, err := nodeStatus(ctx, address); err == nil && status == "ready" {
			return nil
		}
		select {
		case <-ended:
			return errors.New("the agent has ended")
		case <-ctx.Done():
			return errors.New("the agent has no node that is ready")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// nodeStatus returns the status of the only node, "" if there is none yet.
func nodeStatus(ctx context.Context, address string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/v1/nodes", nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var nodes []struct{ Status string }
	if err := json.NewDecoder(answer.Body).Decode(&nodes); err != nil || len(nodes) == 0 {
		return "", err
	}
	return nodes[0].Status, nil
}

func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}
