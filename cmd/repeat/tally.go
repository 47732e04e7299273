package repeat

import (
	"cmp"
	"slices"

	"taskrun/cmd/report/compare"
	"taskrun/cmd/report/scrub"
)

// maxOutcomes limits how many outcomes are told apart.
const maxOutcomes = 100

// Outcome is how one or more runs ended.
type Outcome struct {
	Status   string `json:"status"`
	ExitCode int    `json:"exit_code"`
	Reason   string `json:"reason,omitempty"`
	Runs     int    `json:"runs"`
	First    int    `json:"first_run"` // its number
	Failed   bool   `json:"failed"`
}

// Tally counts how runs ended. The zero value is ready.
type Tally struct {
	Outcomes []*Outcome
	Spreads  compare.Spreads // of the runs that passed
	Runs     int             // that have ended, without one that was stopped
	Failures int
	// Failed is the first run that failed, or nil. Passed is a run that passed, the
	// last one before it or the first one after it, or nil.
	Failed, Passed *Run
}

// Add adds a run. It keeps little of it.
func (t *Tally) Add(r *Run) {
	t.count(r)
	if r.Stopped {
		return
	}
	t.Runs++
	if r.Failed() {
		t.Failures++
		t.Failed = cmp.Or(t.Failed, r)
		return
	}
	t.Spreads.Add(r.Compared)
	if t.Failed == nil || t.Passed == nil {
		t.Passed = r
	}
}

func (t *Tally) count(r *Run) {
	status, reason := cmp.Or(r.Status, "not started"), ""
	if r.Failed() {
		reason = scrub.Text(r.Reason)
	}
	i := slices.IndexFunc(t.Outcomes, func(o *Outcome) bool {
		return o.Status == status && o.ExitCode == r.ExitCode && o.Failed == r.Failed() && (o.Reason == reason || len(t.Outcomes) >= maxOutcomes)
	})
	if i < 0 {
		t.Outcomes = append(t.Outcomes, &Outcome{Status: status, ExitCode: r.ExitCode, Reason: reason, First: r.Number, Failed: r.Failed()})
		i = len(t.Outcomes) - 1
	}
	t.Outcomes[i].Runs++
}

// Compare returns the differences between the run that passed and the one that
// failed; ok is false without two such runs.
func (t *Tally) Compare(o compare.Options) (list []compare.Difference, ok bool) {
	if t.Failed == nil || t.Passed == nil {
		return nil, false
	}
	return compare.Compare(t.Passed.Compared, t.Failed.Compared, o), true
}
