package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// outputRuns is how many times each runner's output is measured; the median
// counts.
const outputRuns = 3

// output measures how fast a runner handles one task's output: only kept on
// disk, and prefixed line by line into a file.
func output(o options, dir string, runners []runner) ([]measure, error) {
	dir, err := os.MkdirTemp(dir, "output")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	text := filepath.Join(dir, "text")
	size, err := writeText(text, o.mib<<20)
	if err != nil {
		return nil, err
	}
	disk, stdout := map[string][]float64{}, map[string][]float64{}
	err = inTurns(outputRuns, runners, func(_ int, r runner) error {
		task := "cat " + text
		if r.name == "sh -c" {
			task += " | cat" // through a pipe, like the others
		}
		if r.start == nil {
			got, err := shown(dir, r, task, size)
			if err != nil {
				return err
			}
			stdout[r.name] = append(stdout[r.name], got)
		}
		switch r.name {
		case "taskrun":
			r = taskrun(r.path, "quiet")
		case "sh -c":
			task += " >kept"
		case "nomad":
		default:
			return nil // it keeps nothing
		}
		got, err := kept(dir, r, task, size)
		disk[r.name] = append(disk[r.name], got)
		return err
	})
	if err != nil {
		return nil, err
	}
	return []measure{
		{
			what: "one task's output, kept on disk", format: rate, more: true, values: medians(disk),
			budgets: []budget{{"", 500 << 20}},
		},
		{
			what: "  and prefixed to stdout, a file", format: rate, more: true, values: medians(stdout),
			budgets: []budget{{"process-compose", 5}, {"", 150 << 20}},
		},
	}, nil
}

// kept runs one task that writes size bytes, and returns how many bytes per
// second the runner accepted.
func kept(dir string, r runner, task string, size int64) (float64, error) {
	dir, err := os.MkdirTemp(dir, "kept")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	bell, err := newBell(dir)
	if err != nil {
		return 0, err
	}
	defer bell.close()
	cmd, err := r.command(dir, []string{bell.ring() + "; " + task + "; " + bell.ring()})
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	start, err := bell.wait(1)
	if err != nil {
		stop(cmd)
		return 0, err
	}
	end, err := bell.wait(1)
	if err != nil {
		stop(cmd)
		return 0, err
	}
	return float64(size) / end.Sub(start).Seconds(), finished(cmd)
}

// shown runs one task that writes size bytes, and returns the bytes per second
// from the start of the runner until it has printed everything and ended.
func shown(dir string, r runner, task string, size int64) (float64, error) {
	dir, err := os.MkdirTemp(dir, "shown")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	out, err := os.Create(filepath.Join(dir, "stdout"))
	if err != nil {
		return 0, err
	}
	defer out.Close()
	cmd, err := r.command(dir, []string{task})
	if err != nil {
		return 0, err
	}
	cmd.Stdout = out
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	if err := finished(cmd); err != nil {
		return 0, err
	}
	took := time.Since(start)
	if info, err := out.Stat(); err != nil {
		return 0, err
	} else if info.Size() < size {
		return 0, fmt.Errorf("only %d of %d bytes came out", info.Size(), size)
	}
	return float64(size) / took.Seconds(), nil
}

// writeText writes lines of 100 bytes, about n bytes in total, and returns the
// exact number.
func writeText(path string, n int) (int64, error) {
	line := append(bytes.Repeat([]byte("0123456789"), 10)[:99], '\n')
	text := bytes.Repeat(line, n/len(line)+1)
	return int64(len(text)), os.WriteFile(path, text, 0o600)
}
