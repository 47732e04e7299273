package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxLost limits the output that may be missing for each death of an engine, in
// bytes: what it had read but not written.
const maxLost = 64 << 10

// check compares how a run ended with the expected end.
func (r *round) check(runDir string) error {
	text, err := os.ReadFile(filepath.Join(runDir, "summary.json"))
	if err != nil {
		return err
	}
	var summary struct {
		ExitCode int `json:"exit_code"`
		Allocs   []struct {
			Alloc, Status string
			AllocID       string `json:"alloc_id"`
			Tasks         map[string]struct {
				State    string
				Failed   bool
				Restarts int
				ExitCode *int `json:"exit_code"`
			}
		}
	}
	if err := json.Unmarshal(text, &summary); err != nil {
		return err
	}
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if summary.ExitCode != 1 {
		wrong("exit code %d, want 1", summary.ExitCode)
	}
	started, err := startedEvents(runDir)
	if err != nil {
		return err
	}
	found := 0
	for _, a := range summary.Allocs {
		failed := false
		for name, got := range a.Tasks {
			found++
			w := tasks()[name]
			failed = failed || w.failed
			code := -1
			if got.ExitCode != nil {
				code = *got.ExitCode
			}
			if got.State != "dead" || got.Failed != w.failed || got.Restarts != w.restarts || code != w.exit && !w.killed {
				wrong("task %s: %s, failed %v, restarts %d, exit code %d; want dead, %v, %d, %d",
					name, got.State, got.Failed, got.Restarts, code, w.failed, w.restarts, w.exit)
			}
			lines, err := os.ReadFile(filepath.Join(r.starts, name))
			if n := strings.Count(string(lines), "\n"); n != w.starts || err != nil {
				wrong("task %s: %d starts, want %d: %v", name, n, w.starts, err)
			}
			if started[name] != w.starts {
				wrong("task %s: %d events Started, want %d", name, started[name], w.starts)
			}
			if w.lines > 0 {
				if err := checkOutput(filepath.Join(runDir, "alloc", a.AllocID, "alloc", "logs", name+".stdout.0"), w.lines); err != nil {
					wrong("task %s: %w", name, err)
				}
			}
		}
		if want := map[bool]string{false: "complete", true: "failed"}[failed]; a.Status != want {
			wrong("allocation %s: %s, want %s", a.Alloc, a.Status, want)
		}
	}
	if want := len(tasks()); found != want {
		wrong("%d tasks, want %d", found, want)
	}
	return errors.Join(errs...)
}

// startedEvents counts the starts in the history, by task.
func startedEvents(runDir string) (map[string]int, error) {
	text, err := os.ReadFile(filepath.Join(runDir, "events.json"))
	if err != nil {
		return nil, err
	}
	started := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var e struct{ Type, Task, Event string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return nil, fmt.Errorf("the history has %q: %w", line, err)
		}
		if e.Event == "Started" {
			started[e.Task]++
		}
	}
	return started, nil
}

// checkOutput checks that no line is duplicated or misplaced, and that little
// is missing.
func checkOutput(path string, lines int) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	last, whole := 0, 0
	for line := range strings.Lines(string(text)) {
		n, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(line, "line ")))
		if err != nil {
			continue // the rest of a line whose beginning is missing
		}
		if n <= last {
			return fmt.Errorf("line %d comes after line %d", n, last)
		}
		last = n
		whole++
	}
	if missing := (lines - whole) * len("line 400\n"); missing > maxLost {
		return fmt.Errorf("%d of %d lines are missing", lines-whole, lines)
	}
	return nil
}
