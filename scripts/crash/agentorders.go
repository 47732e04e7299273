package main

import (
	"errors"
	"fmt"
	"net/http"
)

// order gives the agent a random order. If a kill prevents the answer, the order
// is either carried out or not.
func (a *agentRound) order() error {
	job := a.jobs[a.random.IntN(len(a.jobs))]
	was, now := job.state, job.state
	a.values++
	value := fmt.Sprint("v", a.values)
	var err error
	switch n := a.random.IntN(10); {
	case n < 5 || !was.Exists:
		now = jobState{Exists: true, Value: value, Count: 1 + a.random.IntN(2)}
		err = a.agent.put("/v1/jobs", serviceJob(job.id, now))
	case n == 5:
		now.Stopped = true
		err = a.agent.remove("/v1/job/" + job.id)
	case n == 6:
		now = jobState{}
		err = a.agent.remove("/v1/job/" + job.id + "?purge=true")
	case n == 7 && !was.Stopped:
		now.Count = 3 - was.Count
		body := map[string]any{"Count": now.Count, "Target": map[string]string{"Group": "g"}}
		err = a.agent.put("/v1/job/"+job.id+"/scale", body)
		if statusOf(err) == http.StatusBadRequest {
			return nil // a deployment is active
		}
	case n == 8:
		return a.putVariable(value)
	default:
		return a.dispatch()
	}
	if !errors.Is(err, errNoAnswer) {
		if err == nil {
			job.state = now
			err = a.compare(job, now)
		}
		return err
	}
	if err := a.agent.wait(); err != nil {
		return err
	}
	return a.compare(job, was, now)
}

func (a *agentRound) putVariable(value string) error {
	was := a.variable
	err := a.agent.put("/v1/var/crash", map[string]any{"Path": "crash", "Items": map[string]string{"value": value}})
	if err == nil {
		a.variable = value
		return nil
	}
	if !errors.Is(err, errNoAnswer) {
		return err
	}
	for errors.Is(err, errNoAnswer) {
		if err = a.agent.wait(); err == nil {
			a.variable, err = a.agent.variable()
		}
	}
	if err == nil && a.variable != was && a.variable != value {
		err = fmt.Errorf("the variable is %q, want %q or %q", a.variable, was, value)
	}
	return err
}

func (a *agentRound) registerParameterized() error {
	return a.agent.put("/v1/jobs", dispatchedJob(a.starts))
}

func (a *agentRound) dispatch() error {
	err := a.agent.put("/v1/job/once/dispatch", map[string]any{})
	if errors.Is(err, errNoAnswer) {
		a.perhaps++
		return a.agent.wait()
	}
	if err == nil {
		a.dispatched++
	}
	return err
}
