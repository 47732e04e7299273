package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

const (
	agentJobs   = 20
	agentOrders = 60
)

// agentRound is a round of an agent: random orders for its jobs, while the agent
// is killed.
type agentRound struct {
	*round
	address string
	agent   *client
	jobs    []*agentJob
	// dispatched counts the dispatched jobs: those the agent answered, and those
	// whose answer a kill has prevented.
	dispatched, perhaps int
	values              int // each version of a job and each variable has another value
	variable            string

	mu    sync.Mutex
	kills int
	// alone counts the deaths of agent and keeper together. Nobody sees how the
	// tasks of that moment end, and the next agent runs them again.
	alone int
}

// agentJob is a job and the state in which it must be.
type agentJob struct {
	id      string
	version int // the newest one that was seen
	state   jobState
}

func newAgentRound(r *round) (*agentRound, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer free.Close()
	a := &agentRound{round: r, address: free.Addr().String()}
	if a.agent, err = newClient(a.address); err != nil {
		return nil, err
	}
	for i := range agentJobs {
		a.jobs = append(a.jobs, &agentJob{id: fmt.Sprint("job", i)})
	}
	return a, nil
}

func (a *agentRound) start() error {
	out, err := a.command("agent", "-d", "--http", a.address, "--no-token").CombinedOutput()
	if err != nil {
		return fmt.Errorf("agent -d: %w: %s", err, out)
	}
	return a.agent.wait()
}

func (a *agentRound) agentLog() string {
	out, _ := a.command("agent", "status").CombinedOutput()
	logs, _ := filepath.Glob(filepath.Join(a.dir, "data", "agent", "*.log")) // the pattern is valid
	var text strings.Builder
	text.Write(out)
	for _, log := range logs {
		text.WriteString(tail(log))
	}
	return text.String()
}

// running returns the processes of the keeper and of the agent, or 0.
func (a *agentRound) running() (keeper, agent int) {
	records, _ := filepath.Glob(filepath.Join(a.sockets(), "*-*.run")) // the pattern is valid
	for _, file := range records {
		name, _, _ := strings.Cut(filepath.Base(file), "-")
		if pid := a.engine(name); pid != 0 {
			keeper, _ = strconv.Atoi(name)
			return keeper, pid
		}
	}
	return 0, 0
}

// compare checks that a job is in one of the states, and sets it.
func (a *agentRound) compare(job *agentJob, states ...jobState) error {
	got, version, err := a.agent.job(job.id)
	for errors.Is(err, errNoAnswer) {
		if err = a.agent.wait(); err == nil {
			got, version, err = a.agent.job(job.id)
		}
	}
	if err != nil {
		return err
	}
	if got.Exists && job.state.Exists && version < job.version {
		return fmt.Errorf("%s has version %d after version %d", job.id, version, job.version)
	}
	job.version = version
	for _, s := range states {
		if got == s {
			job.state = s
			return nil
		}
	}
	return fmt.Errorf("%s is %+v, want one of %+v", job.id, got, states)
}

// tail returns the end of a file.
func tail(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(string(text), "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}
