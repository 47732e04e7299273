package variable

import (
	"time"

	"github.com/hashicorp/nomad/api"
)

// retryTime is how long a lock that is over stays if its end cannot be stored.
const retryTime = 10 * time.Second

// Restore adds stored variables. Their locks last as long as new ones, like after
// the start of a Nomad server.
func (s *Store) Restore(variables []*api.Variable) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range variables {
		s.set(v)
		if v.Lock != nil {
			s.hold(v)
		}
	}
}

// Acquire locks a variable, and replaces its items, or creates it. Its lock must
// be one of NewLock. If another client holds the lock, the error is ErrLocked.
func (s *Store) Acquire(v *api.Variable) (*api.Variable, error) {
	s.mu.Lock()
	defer s.unlockAndTell()
	if lockedFor(s.variables[keyOf(v)], v) {
		return nil, ErrLocked
	}
	now, err := s.put(v.Namespace, v.Path, v.Items, v.Lock)
	if err == nil {
		s.hold(now)
	}
	return now, err
}

// Renew renews a lock, and returns the variable. The error is ErrMissing,
// ErrNotLocked, or ErrLocked: with another ID, and for a lock that was renewed
// too late.
func (s *Store) Renew(namespace, path, id string) (*api.Variable, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key{namespace, path}
	v, err := s.holder(k, id)
	if err != nil {
		return nil, err
	}
	now, h := time.Now(), s.held[k]
	if h == nil || !now.Before(h.lost()) {
		return nil, ErrLocked
	}
	h.renewed = now
	return v, nil
}

// Release removes a lock, and returns the variable. For its errors see Renew.
func (s *Store) Release(namespace, path, id string) (*api.Variable, error) {
	s.mu.Lock()
	defer s.unlockAndTell()
	v, err := s.holder(key{namespace, path}, id)
	if err != nil {
		return nil, err
	}
	return s.release(v)
}

// holder returns the variable that is locked with an ID.
func (s *Store) holder(k key, id string) (*api.Variable, error) {
	switch v := s.variables[k]; {
	case v == nil:
		return nil, ErrMissing
	case v.Lock == nil:
		return nil, ErrNotLocked
	case v.Lock.ID != id:
		return nil, ErrLocked
	default:
		return v, nil
	}
}

// release stores a variable without its lock.
func (s *Store) release(v *api.Variable) (*api.Variable, error) {
	now, err := s.put(v.Namespace, v.Path, v.Items, nil)
	if err == nil {
		s.forget(keyOf(v))
	}
	return now, err
}

// hold awaits the end of the lock of a variable.
func (s *Store) hold(v *api.Variable) {
	k := keyOf(v)
	s.forget(k)
	if s.closed {
		return
	}
	h := &held{renewed: time.Now()}
	h.ttl, _ = durationOr(v.Lock.TTL, defaultTTL)
	h.delay, _ = durationOr(v.Lock.LockDelay, defaultDelay)
	h.timer = time.AfterFunc(time.Until(h.over()), func() { s.expire(k, h) })
	if s.held == nil {
		s.held = map[key]*held{}
	}
	s.held[k] = h
}

// forget no longer awaits the end of a lock.
func (s *Store) forget(k key) {
	if h := s.held[k]; h != nil {
		h.timer.Stop()
		delete(s.held, k)
	}
}

// expire releases a lock that is over, unless it was renewed.
func (s *Store) expire(k key, h *held) {
	s.mu.Lock()
	defer s.unlockAndTell()
	if s.held[k] != h {
		return
	}
	if left := time.Until(h.over()); left > 0 {
		h.timer.Reset(left)
		return
	}
	if _, err := s.release(s.variables[k]); err != nil {
		h.timer.Reset(retryTime)
	}
}

// Close stops awaiting the ends of locks. A store with the same variables awaits
// them again.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for k := range s.held {
		s.forget(k)
	}
}
