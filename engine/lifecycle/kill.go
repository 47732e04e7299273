package lifecycle

import "slices"

// Cause is why the running tasks must be killed.
type Cause uint8

// The causes.
const (
	// NoCause means that the tasks continue.
	NoCause Cause = iota
	// SiblingFailed: a task has failed for good.
	SiblingFailed
	// LeaderDead: the leader has ended successfully.
	LeaderDead
	// MainTasksDead: only sidecars are left.
	MainTasksDead
)

// KillCause returns why the running tasks must be killed, if they must, and the
// index of the failed sibling. Poststop tasks do not count and are not killed.
func KillCause(t *Tally) (cause Cause, sibling int) {
	live := 0
	for stage := range Poststop {
		live += t.live(stage)
	}
	switch failed := t.firstFailed(); {
	case live == 0:
		return NoCause, -1
	case t.leaders > 0:
		return LeaderDead, -1
	case failed >= 0:
		return SiblingFailed, failed
	case live == t.live(PrestartSidecar)+t.live(PoststartSidecar):
		return MainTasksDead, -1
	default:
		return NoCause, -1
	}
}

// KillWaves returns the order in which tasks are killed, as indexes into tasks:
// first the leader, then all others except sidecars, then the sidecars. A wave
// starts when the previous one is dead. Poststop tasks are in none.
func KillWaves(tasks []Task) [][]int {
	var leader, others, sidecars []int
	for i, t := range tasks {
		switch {
		case t.Stage == Poststop:
		case t.Leader:
			leader = append(leader, i)
		case t.Stage.Sidecar():
			sidecars = append(sidecars, i)
		default:
			others = append(others, i)
		}
	}
	waves := [][]int{leader, others, sidecars}
	return slices.DeleteFunc(waves, func(w []int) bool { return len(w) == 0 })
}
