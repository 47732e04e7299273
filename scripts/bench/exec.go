package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// execRuns is how many times a stream is measured; the median counts.
const execRuns = 3

// executions measures commands in a running task, each a complete process: one
// that does nothing, one that writes, and one that copies its input. For sh, it
// measures only the command.
func executions(o options, dir string, runners []runner) ([]measure, error) {
	dir, err := os.MkdirTemp(dir, "exec")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	text := filepath.Join(dir, "text")
	size, err := writeText(text, o.mib<<20)
	if err != nil {
		return nil, err
	}
	nothing, out, through := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	err = inTurns(1, runners, func(_ int, r runner) error {
		if r.exec == nil {
			return nil
		}
		return withTask(dir, r, func(run func(stdin string, command ...string) (time.Duration, error)) error {
			for turn := range o.runs + warmUps {
				took, err := run(os.DevNull, "true")
				if err != nil {
					return err
				}
				if turn >= warmUps {
					nothing[r.name] = append(nothing[r.name], took.Seconds())
				}
			}
			for range execRuns {
				took, err := run(os.DevNull, "cat", text)
				if err != nil {
					return err
				}
				out[r.name] = append(out[r.name], float64(size)/took.Seconds())
				if took, err = run(text, "cat"); err != nil {
					return err
				}
				through[r.name] = append(through[r.name], float64(size)/took.Seconds())
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return []measure{
		{what: "exec TASK -- true", format: milliseconds, values: medians(nothing), budgets: []budget{{"", 0.015}}},
		{what: "exec TASK -- cat FILE", format: rate, more: true, values: medians(out), budgets: []budget{{"", 80 << 20}}},
		{what: "exec TASK -- cat <FILE", format: rate, more: true, values: medians(through), budgets: []budget{{"", 25 << 20}}},
	}, nil
}

// withTask calls f while a task is running that does nothing. run runs a
// command in it, with a file as its stdin, and returns the time.
func withTask(dir string, r runner, f func(run func(stdin string, command ...string) (time.Duration, error)) error) error {
	dir, err := os.MkdirTemp(dir, "task")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	bell, err := newBell(dir)
	if err != nil {
		return err
	}
	defer bell.close()
	// It rings after a delay, because a runner may need time to notice the
	// start.
	cmd, err := r.command(dir, []string{"sleep 0.5; " + bell.ring() + "; exec sleep 3600"})
	if err != nil {
		return err
	}
	env := append(os.Environ(), "XDG_RUNTIME_DIR="+dir)
	cmd.Env = env
	if err := cmd.Start(); err != nil {
		return err
	}
	defer stop(cmd)
	if _, err := bell.wait(1); err != nil {
		return err
	}
	return f(func(stdin string, command ...string) (time.Duration, error) {
		in, err := os.Open(stdin)
		if err != nil {
			return 0, err
		}
		defer in.Close()
		line := r.exec(command)
		cmd := exec.Command(line[0], line[1:]...)
		cmd.Stdin, cmd.Env = in, env
		start := time.Now()
		if err := cmd.Run(); err != nil {
			return 0, fmt.Errorf("%q: %w", line, err)
		}
		return time.Since(start), nil
	})
}
