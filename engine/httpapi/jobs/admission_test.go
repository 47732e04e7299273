package jobs

import (
	"net/http"
	"testing"

	"taskrun/engine/httpapi/rest"
)

// The priority of an evaluation is one of a job, or 0 for that of the job.
func TestPriorityOfAnEvaluation(t *testing.T) {
	t.Parallel()
	for n, fits := range map[int]bool{-1: false, 0: true, 1: true, 100: true, 101: false} {
		switch got, err := evalPriority(n); {
		case fits && (got != n || err != nil):
			t.Errorf("%d: %d, %v", n, got, err)
		case !fits && (err == nil || rest.StatusOf(err) != http.StatusBadRequest || got != 0):
			t.Errorf("%d: %d, %v", n, got, err)
		}
	}
}
