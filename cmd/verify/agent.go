package verify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/drivers/process"
	"taskrun/jobspec/visible"
)

// StartTime limits the time until an agent accepts jobs.
const StartTime = time.Minute

// endTime limits the graceful end of an agent, and the steps of the cleanup after it.
const endTime = 20 * time.Second

// Agent is a Nomad agent in dev mode: a server and a client in one process, which
// was started here and listens only at the loopback interface.
type Agent struct {
	Server *client.Server

	process *process.Process
	run     *process.Run
	log     string // its file
	groups  []string
}

// Start says how an agent is started.
type Start struct {
	Nomad string   // path of the program
	Env   []string // of this program
	Dir   string   // an empty scratch directory
	Wait  time.Duration
	Node  Node
	More  string // configuration besides
}

// AgentError says that an agent did not start, or has ended.
type AgentError struct {
	What string
	Log  string // its last lines
}

func (e *AgentError) Error() string {
	if e.Log == "" {
		return e.What + "; it has written nothing"
	}
	return e.What + "; its last lines:\n" + e.Log
}

// StartAgent starts an agent and waits until it accepts jobs. If it returns an
// error, no process is left.
func StartAgent(ctx context.Context, o Start) (*Agent, error) {
	a := &Agent{run: process.NewRun(), log: filepath.Join(o.Dir, "agent.log"), groups: missingGroups()}
	p, err := freePorts()
	if err != nil {
		return nil, err
	}
	file, sockets := filepath.Join(o.Dir, "agent.hcl"), filepath.Join(o.Dir, "s")
	log, err := os.OpenFile(a.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if err := errors.Join(os.WriteFile(file, []byte(config(o.Dir, p, o.Node)+o.More), 0o600), os.Mkdir(sockets, 0o700)); err != nil {
		return nil, err
	}
	a.process, err = a.run.Start(process.Spec{
		Path: o.Nomad, Name: "nomad", Args: []string{"agent", "-dev", "-config", file},
		Env: append(o.Env, socketDir+"="+sockets), Dir: o.Dir, Stdout: log, Stderr: log,
	})
	if err == nil {
		a.Server, err = client.Remote(client.Cluster{Address: fmt.Sprintf("http://%s:%d", loopback, p.http), Region: o.Node.Region})
	}
	if err == nil {
		err = a.ready(ctx, o.Wait)
	}
	if err != nil {
		over, cancel := context.WithCancel(ctx)
		cancel() // it has nothing to stop gracefully
		return nil, errors.Join(err, a.Stop(over))
	}
	return a, nil
}

// socketDir is the variable that names the directory for the sockets of an agent's
// plugins. They would be left in the directory for temporary files if they were
// killed.
const socketDir = "PLUGIN_UNIX_SOCKET_DIR"

// ready waits until there is a node that accepts jobs.
func (a *Agent) ready(ctx context.Context, wait time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, wait, &AgentError{What: fmt.Sprintf("the agent of Nomad was not ready within %v", wait)})
	defer cancel()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		nodes, _, err := a.Server.API.Nodes().List((&api.QueryOptions{}).WithContext(ctx))
		if err == nil && len(nodes) > 0 && nodes[0].Status == api.NodeStatusReady {
			return nil
		}
		select {
		case <-again.C:
		case <-a.process.Done():
			return a.Ended()
		case <-ctx.Done():
			err := context.Cause(ctx)
			if late, ok := errors.AsType[*AgentError](err); ok {
				late.Log = a.lastLines()
			}
			return err
		}
	}
}

// Done returns a channel that is closed when the agent has ended.
func (a *Agent) Done() <-chan struct{} { return a.process.Done() }

// Ended returns the error of an agent that has ended although it was not stopped.
func (a *Agent) Ended() error {
	return &AgentError{What: "the agent of Nomad has ended", Log: a.lastLines()}
}

// deathTime is how long a process may take to end after its connections are cut off.
const deathTime = 5 * time.Second

// Explain returns the error of the agent's end if that explains the error of a
// request, and else the latter.
func (a *Agent) Explain(err error) error {
	if _, answered := errors.AsType[*client.RefusedError](err); err == nil || answered {
		return err
	}
	select {
	case <-a.Done():
		return a.Ended()
	case <-time.After(deathTime):
		return err
	}
}

// Stop stops the agent gracefully until ctx ends, then kills all its processes.
// They have ended when it returns.
func (a *Agent) Stop(ctx context.Context) error {
	if a.process != nil {
		graceful, cancel := context.WithTimeout(ctx, endTime)
		defer cancel()
		_ = a.process.Signal(syscall.SIGINT) // it fails only if it has ended
		select {
		case <-a.process.Done():
		case <-graceful.Done():
		}
	}
	// A killed agent leaves its processes behind.
	sweep, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	_, err := a.run.Shutdown(sweep)
	removeGroups(a.groups)
	return err
}

// Limits of the part of the log that is shown.
const (
	lastBytes = 4 << 10
	lastLines = 10
)

// lastLines returns the end of the agent's log, safe to show.
func (a *Agent) lastLines() string {
	f, err := os.Open(a.log)
	if err != nil {
		return ""
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		_, _ = f.Seek(max(0, size-lastBytes), io.SeekStart) // else from the end: nothing
	}
	text, _ := io.ReadAll(io.LimitReader(f, lastBytes))
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return visible.Text(strings.Join(lines[max(0, len(lines)-lastLines):], "\n"))
}

func freePorts() (ports, error) {
	var list []int
	for range 3 {
		l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
		if err != nil {
			return ports{}, fmt.Errorf("cannot find a free port: %w", err)
		}
		defer l.Close()
		list = append(list, l.Addr().(*net.TCPAddr).Port)
	}
	return ports{list[0], list[1], list[2]}, nil
}

// Version returns the version of Nomad that a server runs.
func Version(ctx context.Context, s *client.Server) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	body, err := s.API.Raw().Response("/v1/agent/self", (&api.QueryOptions{}).WithContext(ctx))
	if err != nil {
		return "", err
	}
	defer body.Close()
	var self api.AgentSelf
	if err := decode(body, &self); err != nil {
		return "", err
	}
	build, _ := self.Member.Tags["build"]
	return cmp.Or(build, "of unknown version"), nil
}

// decode reads an object, of limited size, from a server.
func decode(from io.Reader, into any) error {
	text, err := io.ReadAll(io.LimitReader(from, maxAnswer+1))
	if err == nil && len(text) > maxAnswer {
		err = errors.New("the answer is too long")
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

const maxAnswer = 4 << 20
