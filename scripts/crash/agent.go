package main

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"time"
)

// playAgent plays one round, and returns how many times it killed the agent.
func (a *agentRound) playAgent() (kills int, err error) {
	defer func() {
		kills = a.kills
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, a.agentLog())
			a.killAll()
		}
	}()
	if err := a.start(); err != nil {
		return 0, err
	}
	if err := a.registerParameterized(); err != nil {
		return 0, err
	}
	stop, stopped := make(chan struct{}), make(chan error, 1)
	random := rand.New(rand.NewPCG(a.random.Uint64(), 0))
	go func() { stopped <- a.killRepeatedly(random, stop) }()
	for range agentOrders {
		if err = a.order(); err != nil {
			break
		}
		time.Sleep(time.Duration(a.random.IntN(40)) * time.Millisecond)
	}
	close(stop)
	if err := errors.Join(err, <-stopped); err != nil {
		return 0, err
	}
	if err := errors.Join(a.agent.wait(), a.settled()); err != nil {
		return 0, err
	}
	// It is stopped, and started again: everything is as it was.
	for range 2 {
		if out, err := a.command("agent", "stop").CombinedOutput(); err != nil {
			return 0, fmt.Errorf("agent stop: %w: %s", err, out)
		}
		if err := a.nothingLeft(); err != nil {
			return 0, err
		}
		if err := errors.Join(a.start(), a.settled()); err != nil {
			return 0, fmt.Errorf("after agent stop: %w", err)
		}
	}
	if out, err := a.command("agent", "stop").CombinedOutput(); err != nil {
		return 0, fmt.Errorf("agent stop: %w: %s", err, out)
	}
	return 0, a.nothingLeft()
}

// killRepeatedly kills the agent at random moments: mostly the agent alone, which
// its keeper starts again, sometimes both, which the next start recovers.
func (a *agentRound) killRepeatedly(random *rand.Rand, stop <-chan struct{}) error {
	for kill := range maxKills {
		pause := time.Duration(random.IntN(600)) * time.Millisecond
		if random.IntN(3) == 0 {
			pause /= 50 // while it recovers
		}
		select {
		case <-stop:
			return nil
		case <-time.After(pause):
		}
		keeper, agent := a.running()
		if agent == 0 {
			continue
		}
		both := kill == maxKills-1
		if both {
			_ = syscall.Kill(keeper, syscall.SIGKILL)
			if newest := a.newest(strconv.Itoa(keeper)); newest != 0 {
				agent = newest // the keeper has just started it
			}
		}
		_ = syscall.Kill(agent, syscall.SIGKILL)
		a.mu.Lock()
		a.kills++
		if both {
			a.alone++
		}
		a.mu.Unlock()
		if both {
			for deadline := time.Now().Add(patience); (alive(keeper) || alive(agent)) && time.Now().Before(deadline); {
				time.Sleep(time.Millisecond) // until both have ended, they hold the data directory
			}
			if err := a.start(); err != nil {
				return fmt.Errorf("after the death of agent and keeper: %w", err)
			}
		}
	}
	return nil
}

// alive reports whether a process has not ended.
func alive(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && !bytes.Contains(status, []byte("\nState:\tZ"))
}

func playAgentRound(r *round, _ int) (kills int, err error) {
	a, err := newAgentRound(r)
	if err != nil {
		return 0, err
	}
	return a.playAgent()
}

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
