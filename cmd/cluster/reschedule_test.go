package cluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

// Whether a failed allocation is replaced depends only on the result of its
// evaluation, which must be complete.
func TestOutlookOfAFailedAllocation(t *testing.T) {
	t.Parallel()
	again, never := &api.ReschedulePolicy{Attempts: new(1)}, &api.ReschedulePolicy{Attempts: new(0), Unlimited: new(false)}
	ended := time.Unix(100, 0)
	states := map[string]*api.TaskState{"t": {FinishedAt: ended}}
	stub := func(change func(*api.AllocationListStub)) *api.AllocationListStub {
		s := &api.AllocationListStub{ID: "1", DesiredStatus: "run", ClientStatus: "failed", TaskStates: states}
		change(s)
		return s
	}
	nothing := func(*api.AllocationListStub) {}
	eval := func(status string, index uint64) []*api.Evaluation {
		return []*api.Evaluation{{ID: "e", Status: status, CreateIndex: index}}
	}
	const failedAt = 30
	for _, c := range []struct {
		name   string
		stub   *api.AllocationListStub
		policy *api.ReschedulePolicy
		evals  []*api.Evaluation
		newer  bool
		want   outlook
	}{
		{"replaced", stub(func(s *api.AllocationListStub) { s.NextAllocation = "2" }), again, nil, false, outlook{true, 0}},
		{"replaced later", stub(func(s *api.AllocationListStub) { s.FollowupEvalID = "f" }), again, []*api.Evaluation{
			{ID: "f", Status: "pending", WaitUntil: ended.Add(30020 * time.Millisecond)},
		}, false, outlook{true, 30 * time.Second}},
		{"never, by its group", stub(nothing), never, eval("pending", 31), false, outlook{true, -1}},
		{"never, for it was to stop", stub(func(s *api.AllocationListStub) { s.DesiredStatus = "stop" }), again, nil, false, outlook{true, -1}},
		{"no evaluation: its attempts are used up", stub(nothing), again, eval("complete", 20), false, outlook{true, -1}},
		{"the evaluation is at work", stub(nothing), again, eval("pending", 30), true, outlook{}},
		{"it is done, but the allocation may be older", stub(nothing), again, eval("complete", 30), false, outlook{}},
		{"it is done, and left no mark", stub(nothing), again, eval("complete", 30), true, outlook{true, -1}},
		{"there is no place", stub(nothing), again, eval("blocked", 31), false, outlook{true, 0}},
		{"an earlier one is at work", stub(nothing), again, eval("pending", 29), true, outlook{true, -1}},
		{"it is done, and one before had no place", stub(nothing), again, append(eval("blocked", 29), eval("complete", 30)...), false, outlook{}},
		{"a policy without a word", stub(nothing), &api.ReschedulePolicy{}, eval("blocked", 31), false, outlook{true, -1}},
		{"without a limit", stub(nothing), &api.ReschedulePolicy{Unlimited: new(true)}, eval("blocked", 31), false, outlook{true, 0}},
		{"replaced by an evaluation that is gone", stub(func(s *api.AllocationListStub) { s.FollowupEvalID = "f" }), again, eval("pending", 31), false, outlook{true, 0}},
		{"replaced at no time that is known", stub(func(s *api.AllocationListStub) { s.FollowupEvalID = "e" }), again, eval("pending", 31), false, outlook{true, 0}},
		{"to be replaced before it ended", stub(func(s *api.AllocationListStub) { s.FollowupEvalID = "f" }), again, []*api.Evaluation{
			{ID: "f", WaitUntil: ended.Add(-time.Second)},
		}, false, outlook{true, 0}},
		{"replaced later than its last task ended", stub(func(s *api.AllocationListStub) {
			s.FollowupEvalID, s.TaskStates = "f", map[string]*api.TaskState{"t": {FinishedAt: ended}, "u": {FinishedAt: ended.Add(-time.Minute)}, "v": {}}
		}), again, []*api.Evaluation{{ID: "e"}, {ID: "f", WaitUntil: ended.Add(time.Second)}}, false, outlook{true, time.Second}},
		{"replaced later than it changed", stub(func(s *api.AllocationListStub) {
			s.FollowupEvalID, s.TaskStates, s.ModifyTime = "f", nil, ended.UnixNano()
		}), again, []*api.Evaluation{{ID: "f", WaitUntil: ended.Add(5 * time.Second)}}, false, outlook{true, 5 * time.Second}},
		{"a policy that is not known", stub(nothing), nil, eval("pending", 30), false, outlook{}},
	} {
		if got := foresee(c.stub, failedAt, c.policy, c.evals, c.newer); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestReplacementChains(t *testing.T) {
	t.Parallel()
	got := predecessors([]*api.AllocationListStub{
		{ID: "1", NextAllocation: "2"},
		{ID: "2"},
		{ID: "3"},
		{ID: "5", NextAllocation: "6"},
		{ID: "6", RescheduleTracker: &api.RescheduleTracker{Events: []*api.RescheduleEvent{{PrevAllocID: "7"}}}},
		{ID: "8", RescheduleTracker: &api.RescheduleTracker{}},
		{ID: "4", RescheduleTracker: &api.RescheduleTracker{Events: []*api.RescheduleEvent{{PrevAllocID: "0"}, {PrevAllocID: "3"}}}},
	})
	if diff := cmp.Diff(map[string]string{"2": "1", "4": "3", "6": "5"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestPlacementFailures(t *testing.T) {
	t.Parallel()
	got := Unplaced("web", map[string]*api.AllocationMetric{
		"a": {NodesEvaluated: 3, ConstraintFiltered: map[string]int{"${attr.kernel.name} = windows": 2}, DimensionExhausted: map[string]int{"memory": 1}},
		"b": {CoalescedFailures: 4, NodesAvailable: map[string]int{"dc1": 0, "dc2": 1}},
		"c": {NodesEvaluated: 2},
		"d": {NodesEvaluated: 9, CoalescedFailures: 1, ClassFiltered: map[string]int{"gpu": 1}, ClassExhausted: map[string]int{"big": 2}, QuotaExhausted: []string{"q"}},
	})
	want := []string{
		`job web: group "a": 1 allocation is not placed: 2 nodes failed constraint "${attr.kernel.name} = windows"; 1 node lacked "memory"`,
		`job web: group "b": 5 allocations are not placed: no node was eligible; datacenter "dc1" has no node`,
		`job web: group "c": 1 allocation is not placed: 2 nodes did not fit`,
		`job web: group "d": 2 allocations are not placed: 1 node of class "gpu" did not fit; 2 nodes of class "big" had no room; quota "q" is used up`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
