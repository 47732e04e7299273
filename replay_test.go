package main_test

import (
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/report/recording"
)

// replays is held by each replay, and by one that is repeated alone.
var replays sync.RWMutex

// replay plays a recording, and fails the test if what happens differs from it. A job
// does things at times of its own, and actions come at recorded ones. On a busy machine
// they miss each other, with Nomad as well. Such a replay proves nothing, and is repeated
// with no other beside it. play returns what differs, and whether the player was late.
func replay(t *testing.T, play func() (got []recording.Alloc, differences []string, late bool)) {
	t.Helper()
	turn := replays.RLocker()
	inTurn := func() ([]recording.Alloc, []string, bool) {
		turn.Lock()
		defer turn.Unlock() // also if the test ends in play
		return play()
	}
	for tries := 3; ; tries-- {
		got, differences, late := inTurn()
		if len(differences) == 0 {
			return
		}
		if tries == 1 || !late && !startedLate(got) {
			for _, d := range differences {
				t.Errorf("not what Nomad did: %s", d)
			}
			return
		}
		t.Logf("repeated, because the machine is busy: not what Nomad did: %s", differences)
		turn = &replays
	}
}

// startTime is how long a task may take to start on a machine that is not busy, and
// how late an action may come.
const startTime = 500 * time.Millisecond

// startedLate reports whether a task took longer than startTime to start.
func startedLate(allocs []recording.Alloc) bool {
	for _, a := range allocs {
		for _, task := range a.Tasks {
			for i, e := range task.Events {
				if i > 0 && e.Type == api.TaskStarted && e.At-task.Events[i-1].At > (delayOf(task.Events[i-1])+startTime).Seconds() {
					return true
				}
			}
		}
	}
	return false
}

// delayOf returns the delay of a restart.
func delayOf(e recording.Event) time.Duration {
	d, _ := time.ParseDuration(e.Details["start_delay"] + "ns")
	return d
}
