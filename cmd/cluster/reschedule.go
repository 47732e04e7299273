package cluster

import (
	"slices"
	"time"

	"github.com/hashicorp/nomad/api"
)

// outlook says what becomes of a failed allocation.
type outlook struct {
	decided bool
	retry   time.Duration // until it is replaced; negative when it will not be
}

// foresee tells whether a failed allocation will be replaced. The server makes
// an evaluation for it at the index of the failure, if its group may be
// rescheduled at all; that leaves a mark on the allocation, the ID of the
// evaluation that replaces it later or of its replacement. The evaluations have
// to be as new as the allocations; whether these are newer is asked for.
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
			return outlook{true, 0} // as soon as there is a place for it
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

// delay is how long the replacement is put off.
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

// predecessors returns by the ID of allocations that of the one which each runs
// in the place of.
func predecessors(stubs []*api.AllocationListStub) map[string]string {
	before := map[string]string{}
	for _, s := range stubs {
		if s.NextAllocation != "" {
			before[s.NextAllocation] = s.ID
		}
	}
	for _, s := range stubs { // what old versions tell of it
		if t := s.RescheduleTracker; t != nil && len(t.Events) > 0 && before[s.ID] == "" {
			before[s.ID] = t.Events[len(t.Events)-1].PrevAllocID
		}
	}
	return before
}
