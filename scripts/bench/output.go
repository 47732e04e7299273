package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// streamRuns is how many times a stream is measured; the median counts.
const streamRuns = 3

// output measures how fast a runner handles one task's output: only kept on
// disk, and prefixed line by line into a file.
func output(o options, dir string, runners []runner) ([]measure, error) {
	text, size, err := writeText(dir, o.mib<<20)
	if err != nil {
		return nil, err
	}
	disk, stdout := samples{}, samples{}
	err = inTurns(streamRuns, runners, func(_ int, r runner) error {
		task := "cat " + text
		if r.name == "sh -c" {
			task += " | cat" // through a pipe, like the others
		}
		if r.agent == nil {
			took, err := shown(dir, r, task, size)
			if err != nil {
				return err
			}
			stdout.add(r, size/took)
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
		took, err := kept(dir, r, task)
		disk.add(r, size/took)
		return err
	})
	return []measure{
		{
			what: "one task's output, kept on disk", format: rate, more: true, values: disk.medians(),
			budgets: []budget{{"sh -c", 0.85}},
		},
		{
			what: "  and prefixed to stdout, a file", format: rate, more: true, values: stdout.medians(),
			budgets: []budget{{"sh -c", 0.85}},
		},
	}, err
}

// kept runs one task that writes, and returns the seconds until the runner had
// accepted all.
func kept(dir string, r runner, task string) (seconds float64, err error) {
	bell, err := newBell(dir)
	if err != nil {
		return 0, err
	}
	defer bell.close()
	cmd, _, err := r.start(bell.dir, nil, bell.ring()+"; "+task+"; "+bell.ring())
	if err != nil {
		return 0, err
	}
	start, err := bell.wait(1)
	end := start
	if err == nil {
		end, err = bell.wait(1)
	}
	if err != nil {
		stop(cmd)
		return 0, err
	}
	return end.Sub(start).Seconds(), finished(cmd)
}

// shown runs one task that writes size bytes, and returns the seconds from the
// start of the runner until it has printed everything and ended.
func shown(dir string, r runner, task string, size float64) (seconds float64, err error) {
	dir, err = os.MkdirTemp(dir, "shown")
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
	} else if float64(info.Size()) < size {
		return 0, fmt.Errorf("only %d of %.0f bytes came out", info.Size(), size)
	}
	return took.Seconds(), nil
}

// writeText writes a file with lines of 100 bytes, about n bytes in total, and
// returns the exact number.
func writeText(dir string, n int) (path string, size float64, err error) {
	line := append(bytes.Repeat([]byte("0123456789"), 10)[:99], '\n')
	text := bytes.Repeat(line, n/len(line)+1)
	path = filepath.Join(dir, "text")
	return path, float64(len(text)), os.WriteFile(path, text, 0o600)
}
