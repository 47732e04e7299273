package engine

import (
	"testing"

	"github.com/hashicorp/nomad/api"
)

// A slot that is wanted no more gets no allocation, even if that was ordered
// after it began to place one.
func TestNothingIsPlacedForWhatHasEnded(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*Engine, *slot){
		"the slot is gone":    func(_ *Engine, s *slot) { s.Gone = true },
		"the job was stopped": func(_ *Engine, s *slot) { s.stop() },
		"the engine leaves":   func(e *Engine, _ *slot) { e.leave() },
	} {
		e := New(Config{})
		s := &slot{jobRun: newJobRun(e.host, &e.runs, &api.Job{ID: new("job")}, nil, nil, nil)}
		end(e, s)
		if a := s.place(); a != nil || len(s.Placed) != 0 || !s.mu.TryLock() {
			t.Errorf("%s: it placed %v, or is locked", name, a)
		}
	}
}
