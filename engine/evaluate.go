package engine

import (
	"fmt"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/engine/store"
)

// Evaluate looks at a job once more because somebody wants it, and returns the
// ID of the evaluation. With reschedule the allocations that have failed are
// replaced now, whatever the job's reschedule blocks say.
func (e *Engine) Evaluate(id string, reschedule bool) (evaluation string, err error) {
	r, err := e.find(id)
	if err != nil {
		return "", err
	}
	r.lock()
	var c store.Change
	evaluation = r.evaluate(event.JobRegister, "", &c)
	r.recorder.Commit(c)
	r.mu.Unlock()
	if reschedule {
		_, err = e.Reschedule(id)
	}
	return evaluation, err
}

// Reschedule replaces the failed allocations of a job now, whatever its
// reschedule blocks say: those that wait to be replaced, and those that were
// given up. It returns at once, with how many these are.
func (e *Engine) Reschedule(id string) (int, error) {
	r, err := e.find(id)
	if err != nil {
		return 0, err
	}
	failed := map[string]bool{} // allocations, by ID
	for _, a := range e.Allocs() {
		failed[a.ID] = a.Alloc.Job == id && a.Status == api.AllocClientStatusFailed
	}
	r.lock()
	defer r.mu.Unlock()
	var slots []*slot
	for _, s := range r.slots {
		if !s.Gone && len(s.Placed) > 0 && failed[s.last().ID] {
			slots = append(slots, s)
		}
	}
	if len(slots) > 0 && (r.ended || r.stopped || r.isEnding()) {
		return 0, fmt.Errorf("cannot reschedule job %q: it has ended, or is being stopped", id)
	}
	for _, s := range slots {
		s.again = s.living // else it places one anyway
		s.begin()
	}
	return len(slots), nil
}
