package engine

import (
	"fmt"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/engine/store"
)

// Evaluate creates an evaluation of a job and returns its ID. With reschedule
// the failed allocations are replaced now, whatever the reschedule blocks of
// the job say: those that wait to be replaced, and those that were given up.
func (e *Engine) Evaluate(id string, reschedule bool) (evaluation string, err error) {
	r, err := e.runs.find(id)
	if err != nil {
		return "", err
	}
	r.lock()
	defer r.mu.Unlock()
	var c store.Change
	evaluation = r.evaluate(event.JobRegister, "", &c)
	r.recorder.Commit(c)
	if reschedule {
		err = r.reschedule()
	}
	return evaluation, err
}

// reschedule replaces the failed allocations. The lock is held.
func (r *jobRun) reschedule() error {
	over := r.ended || r.stopped || r.isEnding()
	for _, s := range r.slots {
		if s.Gone || len(s.Placed) == 0 {
			continue
		}
		if a := r.engine.allocs.find(s.last().ID); a == nil || a.State().Status != api.AllocClientStatusFailed {
			continue
		}
		if over {
			return fmt.Errorf("cannot reschedule job %q: it has ended, or is being stopped", *r.job.ID)
		}
		s.again = s.living // else it places one anyway
		s.begin()
	}
	return nil
}
