package variable

import (
	"cmp"
	"errors"
	"time"

	"github.com/hashicorp/nomad/api"
)

// Limits and defaults of a lock, as in Nomad.
const (
	minTTL       = 10 * time.Second
	maxTTL       = 24 * time.Hour
	defaultTTL   = 15 * time.Second
	defaultDelay = 15 * time.Second
)

// Errors of locks, in Nomad's words.
var (
	// ErrLocked says that another client holds the lock of a variable.
	ErrLocked = errors.New("attempting to modify locked variable")
	// ErrNotLocked says that a variable has no lock.
	ErrNotLocked = errors.New("variable doesn't hold a lock")
	// ErrMissing says that there is no such variable.
	ErrMissing = errors.New("variable doesn't exist")
)

// NewLock returns a lock with Nomad's defaults for what the order leaves out, and
// with an ID if it has none. It returns an error for times out of range.
func NewLock(order *api.VariableLock, id string) (*api.VariableLock, error) {
	if order == nil {
		order = &api.VariableLock{}
	}
	ttl, err := durationOr(order.TTL, defaultTTL)
	if err != nil {
		return nil, err
	}
	delay, err := durationOr(order.LockDelay, defaultDelay)
	switch {
	case err != nil:
		return nil, err
	case ttl < 0 || delay < 0:
		return nil, errors.New("Lock delay and TTL must be positive") //nolint:staticcheck // Nomad's words
	case ttl < minTTL || ttl > maxTTL:
		return nil, errors.New("TTL must be between 10 seconds and 24 hours")
	}
	return &api.VariableLock{ID: cmp.Or(order.ID, id), TTL: ttl.String(), LockDelay: delay.String()}, nil
}

// durationOr parses a duration. It returns absent for none, and for 0.
func durationOr(text string, absent time.Duration) (time.Duration, error) {
	if text == "" {
		return absent, nil
	}
	d, err := time.ParseDuration(text)
	return cmp.Or(d, absent), err
}

// locks are the locks whose ends are awaited, by variable. The Store guards them.
type locks struct {
	held   map[key]*held
	closed bool // the ends are no longer awaited
}

// held is a lock whose end is awaited.
type held struct {
	lease
	timer *time.Timer
}

// hold awaits the end of a lock, and calls ended then, without the lock of the Store.
func (l *locks) hold(k key, lock *api.VariableLock, ended func(*held)) {
	l.forget(k)
	if l.closed {
		return
	}
	if l.held == nil {
		l.held = map[key]*held{}
	}
	h := &held{lease: newLease(lock, time.Now())}
	h.timer = time.AfterFunc(time.Until(h.over()), func() { ended(h) })
	l.held[k] = h
}

// forget no longer awaits the end of a lock.
func (l *locks) forget(k key) {
	if h := l.held[k]; h != nil {
		h.timer.Stop()
		delete(l.held, k)
	}
}

// close no longer awaits the end of any lock.
func (l *locks) close() {
	l.closed = true
	for k := range l.held {
		l.forget(k)
	}
}

// lease says how long a lock lasts. As in Nomad, it can be renewed for twice its
// TTL. Then it protects the variable for the lock delay.
type lease struct {
	id         string
	ttl, delay time.Duration
	renewed    time.Time
}

// newLease returns the lease of a lock that was acquired, or found in a stored
// variable, at a time.
func newLease(l *api.VariableLock, at time.Time) lease {
	ttl, _ := durationOr(l.TTL, defaultTTL)
	delay, _ := durationOr(l.LockDelay, defaultDelay)
	return lease{l.ID, ttl, delay, at}
}

// lost is when the lock can no longer be renewed.
func (l lease) lost() time.Time { return l.renewed.Add(2 * l.ttl) }

// over is when the variable becomes free.
func (l lease) over() time.Time { return l.lost().Add(l.delay) }

type key struct{ namespace, path string }

func keyOf(v *api.Variable) key { return key{v.Namespace, v.Path} }

func lockOf(v *api.Variable) *api.VariableLock {
	if v == nil {
		return nil
	}
	return v.Lock
}

// lockedFor reports whether a variable has a lock that an order does not hold.
func lockedFor(was, order *api.Variable) bool {
	return was != nil && was.Lock != nil && was.Lock.ID != order.LockID()
}
