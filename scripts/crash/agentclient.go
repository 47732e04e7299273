package main

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"
)

// errNoAnswer is a request without an answer: the agent was killed.
var errNoAnswer = errors.New("the agent does not answer")

// client sends requests to an agent, and checks that indexes never fall.
type client struct {
	raw *api.Raw

	mu      sync.Mutex
	indexes map[string]uint64 // of each path
	written uint64            // the index of the last write
}

func newClient(address string) (*client, error) {
	connection := &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	c, err := api.NewClient(&api.Config{Address: "http://" + address, HttpClient: connection})
	if err != nil {
		return nil, err
	}
	return &client{raw: c.Raw(), indexes: map[string]uint64{}}, nil
}

// wait waits until the agent answers.
func (c *client) wait() error {
	return until(5*time.Millisecond, func() (fatal, err error) {
		if err = c.read("/v1/agent/health", new(any)); err != nil && !errors.Is(err, errNoAnswer) {
			fatal = err
		}
		return fatal, err
	})
}

func (c *client) read(path string, into any) error {
	meta, err := c.raw.Query(path, into, nil)
	if err != nil {
		return answered("GET "+path, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if meta.LastIndex > 0 && meta.LastIndex < c.indexes[path] {
		return fmt.Errorf("GET %s: index %d after %d", path, meta.LastIndex, c.indexes[path])
	}
	c.indexes[path] = max(c.indexes[path], meta.LastIndex)
	return nil
}

func (c *client) put(path string, body any) error {
	meta, err := c.raw.Write(path, body, nil, nil)
	return c.wrote("PUT "+path, meta, err)
}

func (c *client) remove(path string) error {
	meta, err := c.raw.Delete(path, nil, nil)
	return c.wrote("DELETE "+path, meta, err)
}

func (c *client) wrote(what string, meta *api.WriteMeta, err error) error {
	if err != nil {
		return answered(what, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if meta.LastIndex <= c.written {
		return fmt.Errorf("%s: index %d after %d", what, meta.LastIndex, c.written)
	}
	c.written = meta.LastIndex
	return nil
}

// answered returns the error of a request, which is errNoAnswer unless the agent
// has refused it.
func answered(what string, err error) error {
	if statusOf(err) == 0 {
		return fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// statusOf returns the status of an answer that is an error; 0 for other errors.
func statusOf(err error) int {
	refused, _ := errors.AsType[api.UnexpectedResponseError](err)
	return refused.StatusCode()
}

// job returns the state and the version of a job.
func (c *client) job(id string) (state jobState, version int, err error) {
	var got struct {
		Stop       bool
		Version    int
		Meta       map[string]string
		TaskGroups []struct{ Count int }
	}
	err = c.read("/v1/job/"+id, &got)
	if statusOf(err) == http.StatusNotFound {
		return jobState{}, 0, nil
	}
	if err != nil || len(got.TaskGroups) != 1 {
		return jobState{}, 0, err
	}
	return jobState{Exists: true, Stopped: got.Stop, Value: got.Meta["value"], Count: got.TaskGroups[0].Count}, got.Version, nil
}

// variable returns the value of the variable, "" if it does not exist.
func (c *client) variable() (string, error) {
	var got struct{ Items map[string]string }
	err := c.read("/v1/var/crash", &got)
	if statusOf(err) == http.StatusNotFound {
		return "", nil
	}
	return got.Items["value"], err
}

func serviceJob(id string, s jobState) any {
	return map[string]any{"Job": map[string]any{
		"ID": id, "Name": id, "Type": "service", "Datacenters": []string{"*"}, "Meta": map[string]string{"value": s.Value},
		"Update": map[string]any{"MaxParallel": 2, "MinHealthyTime": time.Millisecond, "HealthCheck": "task_states"},
		"TaskGroups": []any{map[string]any{
			"Name": "g", "Count": s.Count,
			"Tasks": []any{map[string]any{
				"Name": "t", "Driver": "raw_exec", "KillTimeout": time.Second,
				"Config": map[string]any{"command": "/bin/sleep", "args": []string{"600"}},
				"Env":    map[string]string{"VALUE": s.Value},
			}},
		}},
	}}
}

// dispatchedJob is a job whose dispatched jobs each write a line to a file.
func dispatchedJob(starts string) any {
	return map[string]any{"Job": map[string]any{
		"ID": "once", "Name": "once", "Type": "batch", "Datacenters": []string{"*"},
		"ParameterizedJob": map[string]any{"Payload": "optional"},
		"TaskGroups": []any{map[string]any{
			"Name": "g", "RestartPolicy": map[string]any{"Attempts": 0, "Mode": "fail"},
			"ReschedulePolicy": map[string]any{"Attempts": 0, "Unlimited": false},
			"Tasks": []any{map[string]any{
				"Name": "t", "Driver": "raw_exec",
				"Config": map[string]any{"command": "/bin/sh", "args": []string{"-c", "echo $NOMAD_ALLOC_ID >>" + starts + "/once; sleep 0.2"}},
			}},
		}},
	}}
}

// jobState is what an order changes of a job.
type jobState struct {
	Exists, Stopped bool
	Value           string
	Count           int
}
