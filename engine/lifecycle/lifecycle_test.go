package lifecycle

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

func tasks(list ...Task) []Task { return list }

func TestStageOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		lifecycle *api.TaskLifecycle
		want      Stage
	}{
		{nil, Main},
		{&api.TaskLifecycle{}, Main},
		{&api.TaskLifecycle{Hook: "prestart"}, PrestartEphemeral},
		{&api.TaskLifecycle{Hook: "prestart", Sidecar: true}, PrestartSidecar},
		{&api.TaskLifecycle{Hook: "poststart"}, PoststartEphemeral},
		{&api.TaskLifecycle{Hook: "poststart", Sidecar: true}, PoststartSidecar},
		{&api.TaskLifecycle{Hook: "poststop"}, Poststop},
		{&api.TaskLifecycle{Hook: "poststop", Sidecar: true}, Poststop},
	} {
		if got := StageOf(tt.lifecycle); got != tt.want {
			t.Errorf("StageOf(%+v) = %v, want %v", tt.lifecycle, got, tt.want)
		}
	}
}

// Only tasks that run until they are stopped can be held.
func TestLastingStages(t *testing.T) {
	t.Parallel()
	for stage, want := range map[Stage]bool{
		PrestartEphemeral: false, PrestartSidecar: true, Main: true, PoststartEphemeral: false, PoststartSidecar: true, Poststop: false,
	} {
		if got := stage.Lasting(); got != want {
			t.Errorf("%v: %t, want %t", stage, got, want)
		}
	}
}

func TestNext(t *testing.T) {
	t.Parallel()
	pre := func(p Phase) Task { return Task{Name: "pre", Stage: PrestartEphemeral, Phase: p} }
	preSide := func(p Phase) Task { return Task{Name: "pre-side", Stage: PrestartSidecar, Phase: p} }
	mainTask := func(p Phase) Task { return Task{Name: "main", Stage: Main, Phase: p} }
	post := func(p Phase) Task { return Task{Name: "post", Stage: PoststartEphemeral, Phase: p} }
	postSide := func(p Phase) Task { return Task{Name: "post-side", Stage: PoststartSidecar, Phase: p} }
	stop := func(p Phase) Task { return Task{Name: "stop", Stage: Poststop, Phase: p} }
	fails := func(task Task) Task { task.Failed = true; return task }
	held := func(task Task) Task { task.Held = true; return task }

	for name, tt := range map[string]struct {
		from  State
		tasks []Task
		want  State
	}{
		"only main goes straight to main":            {StateInit, tasks(mainTask(Pending)), StateMain},
		"init waits until all are pending":           {StateInit, tasks(mainTask(Running)), StateInit},
		"init waits for poststop too":                {StateInit, tasks(mainTask(Pending), stop(Running)), StateInit},
		"prestart holds main back":                   {StateInit, tasks(pre(Pending), mainTask(Pending)), StatePrestart},
		"prestart that runs holds main back":         {StatePrestart, tasks(pre(Running), mainTask(Pending)), StatePrestart},
		"prestart that failed holds main back":       {StatePrestart, tasks(fails(pre(Dead)), mainTask(Pending)), StatePrestart},
		"prestart done opens main":                   {StatePrestart, tasks(pre(Dead), mainTask(Pending)), StateMain},
		"prestart sidecar must run":                  {StatePrestart, tasks(preSide(Pending), mainTask(Pending)), StatePrestart},
		"a dead prestart sidecar does not open main": {StatePrestart, tasks(preSide(Dead), mainTask(Pending)), StatePrestart},
		"prestart sidecar running opens main":        {StatePrestart, tasks(preSide(Running), mainTask(Pending)), StateMain},
		"a held prestart sidecar opens main":         {StatePrestart, tasks(held(preSide(Pending)), mainTask(Pending)), StateMain},
		"held main opens poststart":                  {StateMain, tasks(mainTask(Running), held(mainTask(Pending)), post(Pending)), StatePoststart},
		"main must not be pending":                   {StateMain, tasks(mainTask(Running), mainTask(Pending), post(Pending)), StateMain},
		"main running opens poststart":               {StateMain, tasks(mainTask(Running), post(Pending)), StatePoststart},
		"main dead counts as started":                {StateMain, tasks(mainTask(Dead), post(Pending)), StatePoststart},
		"poststart ephemeral is waited for":          {StatePoststart, tasks(mainTask(Running), post(Running)), StatePoststart},
		"poststart that failed is not waited for":    {StatePoststart, tasks(mainTask(Running), fails(post(Dead))), StateWaitAlloc},
		"poststart sidecars are not waited for":      {StatePoststart, tasks(mainTask(Running), postSide(Pending)), StateWaitAlloc},
		"without poststart the wait begins":          {StateMain, tasks(mainTask(Running)), StateWaitAlloc},
		"a restarting main does not lead back":       {StateWaitAlloc, tasks(mainTask(Pending)), StateWaitAlloc},
		"a living sidecar holds poststop back":       {StateWaitAlloc, tasks(mainTask(Dead), preSide(Running), stop(Pending)), StateWaitAlloc},
		"all dead leads to poststop":                 {StateWaitAlloc, tasks(mainTask(Dead), stop(Pending)), StatePoststop},
		"all dead leads to poststop from any state":  {StatePrestart, tasks(fails(pre(Dead)), mainTask(Dead), stop(Pending)), StatePoststop},
		"poststop is the end":                        {StatePoststop, tasks(mainTask(Dead), stop(Dead)), StatePoststop},
		"several steps at once":                      {StateInit, tasks(mainTask(Pending), post(Pending)), StateMain},
		"restored: main found running":               {StatePrestart, tasks(pre(Dead), mainTask(Running), post(Dead)), StateWaitAlloc},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tally := TallyOf(tt.tasks)
			got := Next(tt.from, &tally)
			if got != tt.want {
				t.Errorf("Next(%v) = %v, want %v", tt.from, got, tt.want)
			}
			if again := Next(got, &tally); again != got {
				t.Errorf("Next is not stable: %v, then %v", got, again)
			}
		})
	}
}

func TestGates(t *testing.T) {
	t.Parallel()
	want := map[State][]Stage{
		StateInit:      nil,
		StatePrestart:  {PrestartEphemeral, PrestartSidecar},
		StateMain:      {PrestartSidecar, Main},
		StatePoststart: {PrestartSidecar, Main, PoststartEphemeral, PoststartSidecar},
		StateWaitAlloc: {PrestartSidecar, Main, PoststartSidecar},
		StatePoststop:  {Poststop},
	}
	for s := StateInit; s < states; s++ {
		var open []Stage
		for stage := PrestartEphemeral; stage < stages; stage++ {
			if s.Open(stage) {
				open = append(open, stage)
			}
		}
		if diff := cmp.Diff(want[s], open); diff != "" {
			t.Errorf("gates in %v (-want +got):\n%s", s, diff)
		}
	}
}

func TestStateNames(t *testing.T) {
	t.Parallel()
	var got []string
	for s := StateInit; s < states; s++ {
		got = append(got, s.String())
	}
	want := []string{"init", "prestart", "main", "poststart", "wait_alloc", "poststop"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestKillCause(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tasks   []Task
		cause   Cause
		sibling string
	}{
		"all live": {tasks(Task{Phase: Running}, Task{Phase: Pending}), NoCause, ""},
		"a task that ended well": {
			tasks(Task{Phase: Dead}, Task{Phase: Running}), NoCause, "",
		},
		"a sibling failed": {
			tasks(Task{Name: "a", Phase: Dead, Failed: true}, Task{Phase: Running}), SiblingFailed, "a",
		},
		"the first failed sibling is named": {
			tasks(Task{Name: "a", Phase: Dead, Failed: true}, Task{Name: "b", Phase: Dead, Failed: true}, Task{}), SiblingFailed, "a",
		},
		"failed but not dead yet": {
			tasks(Task{Name: "a", Phase: Running, Failed: true}, Task{Phase: Running}), NoCause, "",
		},
		"the leader ended well": {
			tasks(Task{Leader: true, Phase: Dead}, Task{Phase: Running}), LeaderDead, "",
		},
		"the leader outranks a failed sibling": {
			tasks(Task{Name: "a", Phase: Dead, Failed: true}, Task{Leader: true, Phase: Dead}, Task{}), LeaderDead, "",
		},
		"a failed leader is a failed sibling": {
			tasks(Task{Name: "l", Leader: true, Phase: Dead, Failed: true}, Task{Phase: Running}), SiblingFailed, "l",
		},
		"only sidecars are left": {
			tasks(Task{Phase: Dead}, Task{Stage: PrestartSidecar, Phase: Running}, Task{Stage: PoststartSidecar}), MainTasksDead, "",
		},
		"a pending poststart task keeps sidecars alive": {
			tasks(Task{Phase: Dead}, Task{Stage: PoststartEphemeral}, Task{Stage: PrestartSidecar, Phase: Running}), NoCause, "",
		},
		"poststop tasks do not count": {
			tasks(Task{Stage: Poststop, Phase: Dead, Failed: true}, Task{Phase: Running}), NoCause, "",
		},
		"nobody is left to kill": {
			tasks(Task{Name: "a", Phase: Dead, Failed: true}, Task{Stage: Poststop}), NoCause, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tally := TallyOf(tt.tasks)
			cause, failed := KillCause(&tally)
			sibling := ""
			if failed >= 0 {
				sibling = tt.tasks[failed].Name
			}
			if cause != tt.cause || sibling != tt.sibling {
				t.Errorf("KillCause = %v %q, want %v %q", cause, sibling, tt.cause, tt.sibling)
			}
		})
	}
}

func TestKillWaves(t *testing.T) {
	t.Parallel()
	got := KillWaves(tasks(
		Task{Stage: Poststop},
		Task{Stage: PrestartSidecar},
		Task{Stage: Main},
		Task{Stage: Main, Leader: true},
		Task{Stage: PoststartEphemeral},
		Task{Stage: PoststartSidecar},
	))
	if diff := cmp.Diff([][]int{{3}, {2, 4}, {1, 5}}, got); diff != "" {
		t.Error(diff)
	}
	if got := KillWaves(tasks(Task{Stage: Poststop})); len(got) != 0 {
		t.Errorf("KillWaves of a poststop task = %v, want none", got)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tasks       []Task
		status      string
		description string
	}{
		"pending":                       {tasks(Task{}, Task{Phase: Dead}), "pending", "No tasks have started"},
		"running":                       {tasks(Task{}, Task{Phase: Running}), "running", "Tasks are running"},
		"failed wins":                   {tasks(Task{Phase: Running}, Task{Phase: Dead, Failed: true}), "failed", "Failed tasks"},
		"failed counts only when dead":  {tasks(Task{Phase: Running, Failed: true}), "running", "Tasks are running"},
		"complete":                      {tasks(Task{Phase: Dead}, Task{Phase: Dead}), "complete", "All tasks have completed"},
		"a failed poststop task counts": {tasks(Task{Phase: Dead}, Task{Stage: Poststop, Phase: Dead, Failed: true}), "failed", "Failed tasks"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tally := TallyOf(tt.tasks)
			status, description := Status(&tally)
			if status != tt.status || description != tt.description {
				t.Errorf("Status = %q %q, want %q %q", status, description, tt.status, tt.description)
			}
		})
	}
}

// TestTells kills a leader, a follower and a sidecar, and shows the orders that
// follow each input.
func TestTells(t *testing.T) {
	t.Parallel()
	group := tasks(Task{Name: "leader", Leader: true}, Task{Name: "follower"}, Task{Name: "side", Stage: PrestartSidecar})
	dies := func(i int, failed bool) []Input {
		return []Input{{Kind: Changed, Task: i, Phase: Dead, Failed: failed}, {Kind: Ends, Task: i}}
	}
	stop, ready := []Input{{Kind: Stop}}, []Input{{Kind: ReadyToKill}}
	for name, tt := range map[string]struct {
		tasks  []Task
		inputs [][]Input
		want   []string
	}{
		"stopped with a leader": {
			group,
			[][]Input{stop, ready, dies(0, false), dies(1, false), dies(2, false)},
			[]string{"leader: kill", "follower: blame 2", "side: blame 2", "follower: kill kill", "side: kill kill"},
		},
		"stopped with sidecars": {
			group[1:],
			[][]Input{stop, ready, dies(0, false), dies(1, false)},
			[]string{"follower: kill", "side: blame 3", "side: kill kill"},
		},
		"stopped without followers": {group[:1], [][]Input{stop, ready, dies(0, false)}, []string{"leader: kill"}},
		"the leader ends": {
			group,
			[][]Input{dies(0, false), ready, dies(1, false), dies(2, false)},
			[]string{"follower: blame 2", "side: blame 2", "follower: kill", "side: kill"},
		},
		"stopped while it is killed": {
			group[1:],
			[][]Input{dies(0, true), ready, stop, dies(1, false)},
			[]string{"side: blame 1", "side: kill", "side: kill"},
		},
		"a cause does not wait for what comes before": {
			group[1:], [][]Input{stop, dies(0, false), ready, dies(1, false)}, []string{"side: blame 3", "side: kill kill"},
		},
		"killed at once": {
			group,
			[][]Input{stop, ready, {{Kind: KillAtOnce}}, dies(0, false), dies(1, false), dies(2, false)},
			[]string{"leader: kill", "follower: kill", "side: kill"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := NewAlloc(tt.tasks)
			a.Next(Input{Kind: Prepared})
			for i := range tt.tasks {
				a.Next(Input{Kind: Changed, Task: i, Phase: Running})
			}
			var got []string
			for _, inputs := range tt.inputs {
				for _, in := range inputs {
					last := -1
					for _, e := range a.Next(in) {
						switch {
						case e.Kind == Blame:
							got = append(got, fmt.Sprintf("%s: blame %d", tt.tasks[e.Task].Name, e.Cause))
						case e.Kind == Tell && e.Task == last:
							got[len(got)-1] += " kill"
						case e.Kind == Tell:
							got = append(got, tt.tasks[e.Task].Name+": kill")
							last = e.Task
						}
					}
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// ReviveAll starts dead tasks again after RestartAll, unless the allocation was
// stopped in between, and does nothing without RestartAll.
func TestReviveAll(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		between []Input // after a task has parked
		want    int     // tasks that start again
	}{
		"after a restart":             {[]Input{{Kind: RestartAll}}, 1},
		"without a restart":           {nil, 0},
		"after a restart and a stop":  {[]Input{{Kind: RestartAll}, {Kind: Stop}}, 0},
		"after a stop, not restarted": {[]Input{{Kind: Stop}, {Kind: RestartAll}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := NewAlloc(tasks(Task{Name: "first", Stage: PrestartEphemeral}, Task{Name: "main"}))
			for _, in := range append([]Input{
				{Kind: Prepared},
				{Kind: Changed, Task: 0, Phase: Running},
				{Kind: Changed, Task: 0, Phase: Dead},
				{Kind: Parks, Task: 0},
				{Kind: Changed, Task: 1, Phase: Running},
			}, tt.between...) {
				a.Next(in)
			}
			revived := 0
			for _, e := range a.Next(Input{Kind: ReviveAll}) {
				if e.Kind == Revive {
					revived++
				}
			}
			if revived != tt.want {
				t.Errorf("%d tasks start again, want %d", revived, tt.want)
			}
		})
	}
}
