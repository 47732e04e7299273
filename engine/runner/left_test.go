package runner

import (
	"context"
	"testing"
)

// If a task is killed after it was left, its run must not believe that it has
// ended: it is still running, and the next engine has to stop it.
func TestKillOfALeftTaskHasNoEffect(t *testing.T) {
	t.Parallel()
	for name, killedFirst := range map[string]bool{"left first": false, "killed first": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &Alloc{}
			a.leaving, a.leave = context.WithCancel(t.Context())
			task := &taskRun{task: &task{alloc: a}}
			task.killed, task.cancel = context.WithCancel(t.Context())
			if task.isLeft() {
				t.Error("it is left before anything happened")
			}
			if killedFirst {
				task.cancel()
			}
			a.leave()
			if left := task.isLeft(); left == killedFirst {
				t.Errorf("after the first order: left is %v", left)
			}
			task.cancel()
			if left := task.isLeft(); left == killedFirst {
				t.Errorf("after the kill: left is %v", left)
			}
		})
	}
}
