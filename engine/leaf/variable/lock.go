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

// held is a lock whose end is awaited. As in Nomad, it can be renewed for twice its
// TTL. Then it protects the variable for the lock delay.
type held struct {
	ttl, delay time.Duration
	renewed    time.Time
	timer      *time.Timer
}

// lost is when the lock can no longer be renewed.
func (h *held) lost() time.Time { return h.renewed.Add(2 * h.ttl) }

// over is when the variable becomes free.
func (h *held) over() time.Time { return h.lost().Add(h.delay) }

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
