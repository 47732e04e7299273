package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// errNoAnswer is a request without an answer: the agent was killed.
var errNoAnswer = errors.New("no answer")

// client sends requests to an agent, and checks that indexes never fall.
type client struct {
	address string
	http    *http.Client

	mu      sync.Mutex
	indexes map[string]uint64 // of each path
	written uint64            // the index of the last write
}

func newClient(address string) *client {
	return &client{
		address: address, indexes: map[string]uint64{},
		http: &http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}},
	}
}

// wait waits until the agent answers.
func (c *client) wait() error {
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		err := c.read("/v1/agent/health", nil)
		if err == nil {
			return nil
		}
		if !errors.Is(err, errNoAnswer) || time.Now().After(deadline) {
			return fmt.Errorf("the agent does not answer: %w", err)
		}
	}
}

func (c *client) read(path string, into any) error {
	index, err := c.send("GET", path, nil, into)
	if err != nil || index == 0 {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if index < c.indexes[path] {
		return fmt.Errorf("GET %s: index %d after %d", path, index, c.indexes[path])
	}
	c.indexes[path] = index
	return nil
}

func (c *client) write(method, path string, body, into any) error {
	index, err := c.send(method, path, body, into)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if index <= c.written {
		return fmt.Errorf("%s %s: index %d after %d", method, path, index, c.written)
	}
	c.written = index
	return nil
}

func (c *client) send(method, path string, body, into any) (index uint64, err error) {
	var text bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&text).Encode(body); err != nil {
			return 0, err
		}
	}
	request, err := http.NewRequest(method, "http://"+c.address+path, &text)
	if err != nil {
		return 0, err
	}
	answer, err := c.http.Do(request)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	if answer.StatusCode != http.StatusOK {
		return 0, &refusal{answer.StatusCode, fmt.Sprintf("%s %s: %s: %s", method, path, answer.Status, got)}
	}
	if into != nil {
		if err := json.Unmarshal(got, into); err != nil {
			return 0, fmt.Errorf("%s %s: %w", method, path, err)
		}
	}
	index, _ = strconv.ParseUint(answer.Header.Get("X-Nomad-Index"), 10, 64) // none: 0
	return index, nil
}

// refusal is an answer that is an error.
type refusal struct {
	code int
	text string
}

func (r *refusal) Error() string { return r.text }

// job returns the state and the version of a job.
func (c *client) job(id string) (state jobState, version int, err error) {
	var got struct {
		Stop       bool
		Version    int
		Meta       map[string]string
		TaskGroups []struct{ Count int }
	}
	err = c.read("/v1/job/"+id, &got)
	if r := new(refusal); errors.As(err, &r) && r.code == http.StatusNotFound {
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
	if r := new(refusal); errors.As(err, &r) && r.code == http.StatusNotFound {
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

// tail returns the end of a file.
func tail(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(string(text), "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}
