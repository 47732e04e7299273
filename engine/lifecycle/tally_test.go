package lifecycle

import "testing"

// A tally counts waiting, living and dead tasks through changes.
func TestTally(t *testing.T) {
	t.Parallel()
	list := []Task{
		{Stage: PrestartEphemeral, Phase: Dead},
		{Stage: PrestartSidecar, Phase: Running},
		{Stage: Main},
		{Stage: Main, Phase: Dead, Failed: true},
		{Stage: PoststartEphemeral},
		{Stage: Poststop},
		{Stage: Poststop, Phase: Running},
	}
	tally := TallyOf(list)
	check := func(when string, waiting, dead, live int) {
		t.Helper()
		if w, d, l := tally.Waiting(), tally.Dead(), tally.Live(); w != waiting || d != dead || l != live {
			t.Errorf("%s: %d wait, %d are dead, %d live; want %d, %d, %d", when, w, d, l, waiting, dead, live)
		}
	}
	check("at first", 2, 2, 5)
	become := func(i int, after Task) {
		tally.Change(i, list[i], after)
		list[i] = after
	}
	become(2, Task{Stage: Main, Phase: Running})
	check("when another runs", 1, 2, 5)
	become(1, Task{Stage: PrestartSidecar, Phase: Dead})
	become(6, Task{Stage: Poststop, Phase: Dead, Failed: true})
	check("when some have ended", 1, 4, 3)
	if tally.Done() {
		t.Error("it is done while a task runs")
	}
	become(2, Task{Stage: Main, Phase: Dead})
	become(4, Task{Stage: PoststartEphemeral, Phase: Dead})
	check("when only a poststop task is left", 0, 6, 1)
	if !tally.Done() {
		t.Error("it is not done, though only a poststop task is left")
	}
}
