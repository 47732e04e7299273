package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// commands measures whole processes that run no task.
func commands(o options, dir string, runners []runner) ([]measure, error) {
	dir, err := os.MkdirTemp(dir, "commands")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
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
	times, cpu := map[string][]float64{}, map[string][]float64{}
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
				cpu[name] = append(cpu[name], cpuTime(cmd).Seconds())
			}
		}
	}
	version := medians(cpu)
	version["taskrun"] = version["taskrun version"]
	delete(version, "taskrun version")
	return []measure{
		{
			what: "validate, the whole process", format: milliseconds, values: medians(times),
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
	cpu := map[string][]float64{}
	err := inTurns(o.runs+warmUps, runners, func(turn int, r runner) error {
		if r.start != nil {
			return nil // most of it is used by the agent
		}
		dir, err := os.MkdirTemp(dir, "cpu")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		cmd, err := r.command(dir, []string{"true"})
		if err != nil {
			return err
		}
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%q: %w", cmd.Args, err)
		}
		if turn >= warmUps {
			cpu[r.name] = append(cpu[r.name], cpuTime(cmd).Seconds())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return []measure{{
		what: "up of true, CPU", format: milliseconds, values: medians(cpu),
		budgets: []budget{{"hivemind", 4}},
	}}, nil
}

// cpuTime returns the CPU time of a command that has ended, including all
// processes that it waited for.
func cpuTime(cmd *exec.Cmd) time.Duration {
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}
