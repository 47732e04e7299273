package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// firstAct measures the time from the start of a runner to the single action of
// its only task, and from there to the end of the runner.
func firstAct(o options, dir string, runners []runner) ([]measure, error) {
	before, after := samples{}, samples{}
	err := inTurns(o.runs+warmUps, runners, func(turn int, r runner) error {
		act, end, err := oneAct(dir, r)
		if turn < warmUps || err != nil {
			return err
		}
		before.add(r, act.Seconds())
		if r.agent == nil { // otherwise the agent ends the task
			after.add(r, end.Seconds())
		}
		return nil
	})
	return []measure{
		{
			what: "up to the task's first act", format: milliseconds, values: before.medians(),
			budgets: []budget{{"hivemind", 2}},
		},
		{
			what: "the last task's end to exit", format: milliseconds, values: after.medians(),
			budgets: []budget{{"", 0.005}},
		},
	}, err
}

func oneAct(dir string, r runner) (act, end time.Duration, err error) {
	bell, err := newBell(dir)
	if err != nil {
		return 0, 0, err
	}
	defer bell.close()
	cmd, start, err := r.start(bell.dir, nil, bell.ring())
	if err != nil {
		return 0, 0, err
	}
	at, err := bell.wait(1)
	if err != nil {
		stop(cmd)
		return 0, 0, err
	}
	err = finished(cmd)
	return at.Sub(start), time.Since(at), err
}

// commands measures whole processes that run no task.
func commands(o options, dir string, runners []runner) ([]measure, error) {
	file := filepath.Join(dir, "job.nomad.hcl")
	if err := os.WriteFile(file, []byte(jobFile([]string{"true"})), 0o600); err != nil {
		return nil, err
	}
	lines := map[string][]string{}
	for _, r := range runners {
		switch r.name {
		case "taskrun":
			lines["taskrun"] = []string{r.path, "validate", file}
			lines["taskrun version"] = []string{r.path, "version"}
		case "nomad":
			lines["nomad version"] = []string{r.path, "version"}
		case "sh -c":
			lines["sh -c"] = []string{r.path, "-c", ":"}
		}
	}
	times, cpu := samples{}, samples{}
	for i := range o.runs + warmUps {
		for name, line := range lines {
			cmd := exec.Command(line[0], line[1:]...)
			start := time.Now()
			if err := cmd.Start(); err != nil {
				return nil, err
			}
			if err := finished(cmd); err != nil {
				return nil, err
			}
			if i >= warmUps {
				times[name] = append(times[name], time.Since(start).Seconds())
				cpu[name] = append(cpu[name], cpuTime(cmd))
			}
		}
	}
	version := cpu.medians()
	version["taskrun"] = version["taskrun version"]
	delete(version, "taskrun version")
	return []measure{
		{
			what: "validate, the whole process", format: milliseconds, values: times.medians(),
			budgets: []budget{{"", 0.010}},
		},
		{
			what: "version, CPU", format: milliseconds, values: version,
			budgets: []budget{{"", 0.004}},
		},
	}, nil
}

// upOfTrue measures the CPU time of a runner and all its processes for a task
// that does nothing.
func upOfTrue(o options, dir string, runners []runner) ([]measure, error) {
	cpu := samples{}
	err := inTurns(o.runs+warmUps, runners, func(turn int, r runner) error {
		if r.agent != nil {
			return nil // most of it is used by the agent
		}
		dir, err := os.MkdirTemp(dir, "cpu")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		cmd, _, err := r.start(dir, nil, "true")
		if err == nil {
			err = finished(cmd)
		}
		if turn >= warmUps && err == nil {
			cpu.add(r, cpuTime(cmd))
		}
		return err
	})
	return []measure{{
		what: "up of true, CPU", format: milliseconds, values: cpu.medians(),
		budgets: []budget{{"hivemind", 4}},
	}}, err
}

// cpuTime returns the CPU time of a command that has ended, including all
// processes that it waited for, in seconds.
func cpuTime(cmd *exec.Cmd) float64 {
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
}
