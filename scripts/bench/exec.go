package main

import (
	"fmt"
	"os"
	"os/exec"
	"time"
)

// executions measures commands in a running task, each a complete process: one
// that does nothing, one that writes, and one that copies its input. For sh, it
// measures only the command.
func executions(o options, dir string, runners []runner) ([]measure, error) {
	text, size, err := writeText(dir, o.mib<<20)
	if err != nil {
		return nil, err
	}
	nothing, out, through := samples{}, samples{}, samples{}
	err = inTurns(1, runners, func(_ int, r runner) error {
		if r.exec == nil {
			return nil
		}
		return withTask(dir, r, func(run func(stdin string, command ...string) (seconds float64, err error)) error {
			for turn := range o.runs + warmUps {
				took, err := run(os.DevNull, "true")
				if err != nil {
					return err
				}
				if turn >= warmUps {
					nothing.add(r, took)
				}
			}
			for range streamRuns {
				took, err := run(os.DevNull, "cat", text)
				if err != nil {
					return err
				}
				out.add(r, size/took)
				if took, err = run(text, "cat"); err != nil {
					return err
				}
				through.add(r, size/took)
			}
			return nil
		})
	})
	return []measure{
		{what: "exec TASK -- true", format: milliseconds, values: nothing.medians(), budgets: []budget{{"", 0.010}}},
		{what: "exec TASK -- cat FILE", format: rate, more: true, values: out.medians(), budgets: []budget{{"", 300 << 20}}},
		{what: "exec TASK -- cat <FILE", format: rate, more: true, values: through.medians(), budgets: []budget{{"", 100 << 20}}},
	}, err
}

// withTask calls f while a task is running that does nothing. run runs a
// command in it, with a file as its stdin, and returns the time.
func withTask(dir string, r runner, f func(run func(stdin string, command ...string) (seconds float64, err error)) error) error {
	bell, err := newBell(dir)
	if err != nil {
		return err
	}
	defer bell.close()
	env := append(os.Environ(), "XDG_RUNTIME_DIR="+bell.dir)
	// It rings after a delay, because a runner may need time to notice the
	// start.
	cmd, _, err := r.start(bell.dir, env, "sleep 0.5; "+bell.ring()+"; exec sleep 3600")
	if err != nil {
		return err
	}
	defer stop(cmd)
	if _, err := bell.wait(1); err != nil {
		return err
	}
	return f(func(stdin string, command ...string) (float64, error) {
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
		return time.Since(start).Seconds(), nil
	})
}
