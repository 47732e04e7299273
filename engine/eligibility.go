package engine

import "taskrun/engine/fold"

// mayPlace reports whether the node is eligible for new allocations.
func (e *Engine) mayPlace() bool { return e.cfg.Node == nil || e.registry.Eligible(e.cfg.Node.ID) }

// awaitEligibility waits until the eligibility of the node may have changed, or
// something else is wanted of the slot.
func (s *slot) awaitEligibility() {
	state, node := s.engine.state, fold.Topic{Table: fold.Nodes, Key: s.engine.cfg.Node.ID}
	state.mu.Lock()
	w := state.join(node)
	state.mu.Unlock()
	defer state.leave(node, w)
	if s.engine.mayPlace() {
		return
	}
	select {
	case <-w.changed:
	case <-s.wake:
	case <-s.settled.Done():
	}
}
