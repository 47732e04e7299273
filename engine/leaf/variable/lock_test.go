package variable_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/variable"
)

func TestNewLock(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ ttl, delay, want string }{
		{"", "", "15s 15s"},
		{"0s", "0", "15s 15s"},
		{"10s", "1ms", "10s 1ms"},
		{"24h", "1000h", "24h0m0s 1000h0m0s"},
		{"9.9s", "", "TTL must be between 10 seconds and 24 hours"},
		{"24h1s", "", "TTL must be between 10 seconds and 24 hours"},
		{"-1s", "", "Lock delay and TTL must be positive"},
		{"", "-1s", "Lock delay and TTL must be positive"},
		{"x", "", `time: invalid duration "x"`},
		{"", "1", `time: missing unit in duration "1"`},
	} {
		l, err := variable.NewLock(&api.VariableLock{TTL: tt.ttl, LockDelay: tt.delay}, "new")
		got := ""
		if err != nil {
			got = err.Error()
		} else if got = l.TTL + " " + l.LockDelay; l.ID != "new" {
			t.Errorf("its ID is %q", l.ID)
		}
		if got != tt.want {
			t.Errorf("%q, %q: %s, want %s", tt.ttl, tt.delay, got, tt.want)
		}
	}
	if l, err := variable.NewLock(&api.VariableLock{ID: "own"}, "new"); err != nil || l.ID != "own" {
		t.Errorf("%+v, %v", l, err)
	}
	if l, err := variable.NewLock(nil, "new"); err != nil || l.ID != "new" {
		t.Errorf("%+v, %v", l, err)
	}
}

// locked returns a store with a locked variable, a: TTL 10s, delay 5s.
func locked(t *testing.T) *variable.Store {
	t.Helper()
	s := &variable.Store{}
	v := of("a", "1")
	v.Lock = &api.VariableLock{ID: "1", TTL: "10s", LockDelay: "5s"}
	if now, err := s.Acquire(v); err != nil || now.Lock.ID != "1" || now.Items["v"] != "1" {
		t.Fatalf("%+v, %v", now, err)
	}
	return s
}

// with returns a variable as the holder of a lock sends it.
func with(id, value string) *api.Variable {
	v := of("a", value)
	v.Lock = &api.VariableLock{ID: id}
	return v
}

func isHeld(s *variable.Store) bool { return s.Get("default", "a").Lock != nil }

// Only the holder of a lock changes the variable, and the lock stays.
func TestLockedVariable(t *testing.T) {
	t.Parallel()
	s := locked(t)
	defer s.Close()
	_, plain := s.Put(of("a", "2"), nil)
	_, other := s.Put(with("2", "2"), nil)
	_, second := s.Acquire(with("2", "2"))
	_, deleted := s.Delete("default", "a", nil)
	_, renewed := s.Renew("default", "a", "2")
	_, released := s.Release("default", "a", "2")
	for what, err := range map[string]error{
		"a change": plain, "a change by another client": other, "a second lock": second,
		"a deletion": deleted, "a renewal by another client": renewed, "a release by another client": released,
	} {
		if !errors.Is(err, variable.ErrLocked) {
			t.Errorf("%s: %v", what, err)
		}
	}
	before := s.Get("default", "a")
	if _, err := s.Put(of("a", "2"), new(before.ModifyIndex+1)); !errors.Is(err, variable.ErrConflict) {
		t.Errorf("a change of what has changed: %v", err)
	}
	if now, err := s.Put(with("1", "2"), nil); err != nil || now.Items["v"] != "2" || now.Lock == nil || *now.Lock != *before.Lock {
		t.Errorf("a change by the holder: %+v, %v", now, err)
	}
	now, err := s.Release("default", "a", "1")
	if err != nil || now.Lock != nil || now.Items["v"] != "2" || now.ModifyIndex <= before.ModifyIndex || now.CreateIndex != before.CreateIndex {
		t.Errorf("a release: %+v, %v", now, err)
	}
	_, again := s.Release("default", "a", "1")
	_, late := s.Renew("default", "a", "1")
	_, stale := s.Put(with("1", "3"), nil)
	for what, err := range map[string]error{"a second release": again, "a renewal": late, "a change": stale} {
		if !errors.Is(err, variable.ErrNotLocked) {
			t.Errorf("%s after the release: %v", what, err)
		}
	}
	if _, err := s.Renew("default", "none", "1"); !errors.Is(err, variable.ErrMissing) {
		t.Errorf("the lock of a missing variable: %v", err)
	}
	if _, err := s.Acquire(with("2", "3")); err != nil {
		t.Errorf("a second lock after the release: %v", err)
	}
}

// A lock lasts for twice its TTL after its last renewal; then it protects the
// variable for its delay, and no longer.
func TestLockExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := locked(t)
		var told atomic.Int32
		s.Tell(func() { told.Add(1) })
		index := s.Get("default", "a").ModifyIndex
		<-time.After(20*time.Second - 1)
		if now, err := s.Renew("default", "a", "1"); err != nil || now.ModifyIndex != index {
			t.Errorf("a renewal in time: %+v, %v", now, err)
		}
		<-time.After(20 * time.Second)
		if _, err := s.Renew("default", "a", "1"); !errors.Is(err, variable.ErrLocked) {
			t.Errorf("a renewal that is late: %v", err)
		}
		<-time.After(5*time.Second - 1)
		synctest.Wait()
		if _, err := s.Acquire(with("2", "2")); !errors.Is(err, variable.ErrLocked) || !isHeld(s) || told.Load() != 0 {
			t.Errorf("in the delay: %v, told %d times", err, told.Load())
		}
		<-time.After(time.Nanosecond)
		synctest.Wait()
		if v := s.Get("default", "a"); v.Lock != nil || v.Items["v"] != "1" || v.ModifyIndex <= index || told.Load() != 1 {
			t.Errorf("after the delay: %+v, told %d times", v, told.Load())
		}
	})
}

// The end of a lock that was released does not end a later one.
func TestReleasedLockDoesNotExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := locked(t)
		<-time.After(22 * time.Second) // in the delay of the first lock
		if _, err := s.Release("default", "a", "1"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Acquire(with("2", "2")); err != nil { // the default: 15s and 15s
			t.Fatal(err)
		}
		<-time.After(45*time.Second - 1)
		synctest.Wait()
		if v := s.Get("default", "a"); v.Lock == nil || v.Lock.ID != "2" {
			t.Errorf("the second lock: %+v", v.Lock)
		}
		<-time.After(time.Nanosecond)
		synctest.Wait()
		if isHeld(s) {
			t.Error("the second lock stays")
		}
	})
}

// A restored lock can be renewed as if it were new, as in Nomad.
func TestRestoredLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first := locked(t)
		<-time.After(21 * time.Second)
		stored := first.All()
		first.Close()
		<-time.After(time.Hour)
		synctest.Wait()
		if !isHeld(first) {
			t.Error("a closed store released the lock")
		}
		var s variable.Store
		s.Restore(stored)
		if _, err := s.Renew("default", "a", "1"); err != nil {
			t.Error(err)
		}
		<-time.After(25 * time.Second)
		synctest.Wait()
		if isHeld(&s) {
			t.Error("the restored lock does not end")
		}
	})
}

// A variable that cannot be stored has not changed, and the release of a lock is
// retried.
func TestChangeThatCannotBeStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := locked(t)
		full, told := errors.New("no space left"), 0
		s.Tell(func() { told++ })
		s.Keep(func(*api.Variable, bool) error { return full })
		_, put := s.Put(with("1", "2"), nil)
		_, other := s.Put(of("b", "2"), nil)
		_, released := s.Release("default", "a", "1")
		_, acquired := s.Acquire(with("1", "2"))
		for what, err := range map[string]error{"a change": put, "a new one": other, "a release": released, "a lock": acquired} {
			if !errors.Is(err, full) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if v := s.Get("default", "a"); v.Items["v"] != "1" || v.Lock == nil || s.Get("default", "b") != nil || told != 0 {
			t.Errorf("%+v has changed, told %d times", v, told)
		}
		<-time.After(30 * time.Second)
		s.Keep(func(*api.Variable, bool) error { return nil })
		<-time.After(10 * time.Second)
		synctest.Wait()
		if isHeld(s) {
			t.Error("the lock does not end once there is space again")
		}
	})
}
