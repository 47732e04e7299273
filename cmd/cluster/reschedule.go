package cluster

import (
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"
)

// outlook says what happens next to a failed allocation.
type outlook struct {
	decided bool
	retry   time.Duration // until it is replaced; negative: never
}

// foresee decides whether a failed allocation will be replaced. The server creates
// an evaluation at the index of the failure, unless the group is not rescheduled at
// all. Its result is stored in the allocation: the ID of the evaluation that will
// replace it later, or of its replacement. The evaluations must be as new as the
// allocation; newer says whether the allocation is newer than they are.
//
// See https://developer.hashicorp.com/nomad/docs/job-specification/reschedule.
func foresee(s *api.AllocationListStub, failedAt uint64, policy *api.ReschedulePolicy, evals []*api.Evaluation, newer bool) outlook {
	never, later := outlook{true, -1}, outlook{}
	switch {
	case s.NextAllocation != "":
		return outlook{true, 0}
	case s.FollowupEvalID != "":
		return outlook{true, delay(s, evals)}
	case s.DesiredStatus != api.AllocDesiredStatusRun, !reschedules(policy):
		return never
	}
	asked := false
	for _, e := range evals {
		switch {
		case e.CreateIndex < failedAt:
		case e.Status == api.EvalStatusBlocked:
			return outlook{true, 0} // as soon as a node has room for it
		case e.Status == api.EvalStatusPending:
			return later
		default:
			asked = true
		}
	}
	if asked && !newer {
		return later
	}
	return never
}

// delay returns the time between the end of an allocation and its replacement.
func delay(s *api.AllocationListStub, evals []*api.Evaluation) time.Duration {
	i := slices.IndexFunc(evals, func(e *api.Evaluation) bool { return e.ID == s.FollowupEvalID })
	if i < 0 || evals[i].WaitUntil.IsZero() {
		return 0
	}
	ended := time.Time{}
	for _, t := range s.TaskStates {
		if t.FinishedAt.After(ended) {
			ended = t.FinishedAt
		}
	}
	if ended.IsZero() {
		ended = unix(s.ModifyTime)
	}
	return max(0, evals[i].WaitUntil.Sub(ended).Round(100*time.Millisecond))
}

func reschedules(p *api.ReschedulePolicy) bool {
	return p == nil || p.Unlimited != nil && *p.Unlimited || p.Attempts != nil && *p.Attempts > 0
}

// predecessors returns, by allocation ID, the ID of the allocation that each one
// replaces.
func predecessors(stubs []*api.AllocationListStub) map[string]string {
	before := map[string]string{}
	for _, s := range stubs {
		if s.NextAllocation != "" {
			before[s.NextAllocation] = s.ID
		}
	}
	for _, s := range stubs { // old versions of Nomad only have this
		if t := s.RescheduleTracker; t != nil && len(t.Events) > 0 && before[s.ID] == "" {
			before[s.ID] = t.Events[len(t.Events)-1].PrevAllocID
		}
	}
	return before
}
