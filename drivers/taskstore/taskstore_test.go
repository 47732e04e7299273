package taskstore_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"taskrun/drivers"
	"taskrun/drivers/taskstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	t.Parallel()
	var s taskstore.Store[int]
	unknown := func(when string) {
		t.Helper()
		if _, err := s.Get("a"); !errors.Is(err, drivers.ErrTaskNotFound) {
			t.Errorf("%s the error is %v", when, err)
		}
	}
	unknown("at first")
	if err := s.Reserve("a"); err != nil {
		t.Fatal(err)
	}
	unknown("while it starts")
	if err := s.Reserve("a"); err == nil || err.Error() != `task with ID "a" already started` {
		t.Errorf("the second time the error is %v", err)
	}
	s.Put("a", 5)
	if got, err := s.Get("a"); got != 5 || err != nil {
		t.Errorf("the task is %d, %v", got, err)
	}
	if err := s.Reserve("a"); err == nil {
		t.Error("a task that has started was reserved")
	}
	s.Remove("a")
	unknown("in the end")
	if err := s.Reserve("a"); err != nil {
		t.Errorf("the ID is not free again: %v", err)
	}
}

func TestExitWakesAllWaiters(t *testing.T) {
	t.Parallel()
	e := taskstore.NewExit()
	at := time.Unix(1, 0)
	var wg sync.WaitGroup
	for range 10 {
		early := e.Wait(t.Context())
		wg.Go(func() {
			for _, ch := range []<-chan *drivers.ExitResult{early, e.Wait(t.Context())} {
				if result := <-ch; result == nil || result.ExitCode != 3 {
					t.Errorf("the result is %+v", result)
				} else {
					result.ExitCode = 4 // it belongs to the receiver
				}
			}
		})
	}
	e.Set(drivers.ExitResult{ExitCode: 3}, at)
	e.Set(drivers.ExitResult{ExitCode: 9}, at.Add(1))
	wg.Wait()
	var status drivers.TaskStatus
	if e.Describe(&status); status.State != drivers.TaskStateExited || !status.CompletedAt.Equal(at) || status.ExitResult.ExitCode != 3 {
		t.Errorf("the status is %+v", status)
	}
}

func TestExitWaitCanceled(t *testing.T) {
	t.Parallel()
	e := taskstore.NewExit()
	ctx, cancel := context.WithCancel(t.Context())
	before := e.Wait(ctx)
	cancel()
	for _, ch := range []<-chan *drivers.ExitResult{before, e.Wait(ctx)} {
		if result, ok := <-ch; ok {
			t.Errorf("a canceled wait got %+v", result)
		}
	}
	e.Set(drivers.ExitResult{}, time.Now())
	if result := <-e.Wait(ctx); result == nil {
		t.Error("a wait after the end got nothing, though only its context had ended")
	}
}
