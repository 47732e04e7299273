package main_test

import (
	"bufio"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// sleeps detects calls of sleep by tasks, through a command with that name that
// comes first in PATH. A shell that sleeps in a loop has set its traps.
type sleeps struct {
	mu    sync.Mutex
	calls map[string]int // by allocation ID and task
	more  chan struct{}  // closed when there is another call
}

func newSleeps(t testing.TB, dir string) *sleeps {
	t.Helper()
	s := &sleeps{calls: map[string]int{}, more: make(chan struct{})}
	pipe := filepath.Join(dir, "called")
	command := "#!/bin/sh\necho \"$NOMAD_ALLOC_ID/$NOMAD_TASK_NAME\" >" + pipe + "\nexec /bin/sleep \"$@\"\n"
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sleep"), []byte(command), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o622); err != nil {
		t.Fatal(err)
	}
	calls, err := os.OpenFile(pipe, os.O_RDWR, 0) // so that no writer waits for a reader
	if err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines := bufio.NewScanner(calls); lines.Scan(); {
			s.mu.Lock()
			s.calls[lines.Text()]++
			close(s.more)
			s.more = make(chan struct{})
			s.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		_ = calls.Close()
		reading.Wait()
	})
	return s
}

// await waits for several calls of sleep by a task from now on: the first one
// may be left in the pipe by an earlier run of the task.
func (s *sleeps) await(t testing.TB, task string) {
	t.Helper()
	late := time.After(answerTime)
	s.mu.Lock()
	enough := s.calls[task] + 3
	for s.calls[task] < enough {
		more := s.more
		s.mu.Unlock()
		select {
		case <-more:
		case <-late:
			t.Errorf("task %s does not sleep", task)
			return
		}
		s.mu.Lock()
	}
	s.mu.Unlock()
}
