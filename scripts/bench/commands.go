package main

import (
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
	times := map[string][]float64{}
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
			}
		}
	}
	return []measure{{
		what: "validate, the whole process", format: milliseconds, values: medians(times),
		budgets: []budget{{"", 0.020}},
	}}, nil
}
