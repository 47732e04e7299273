package taskstore_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"taskrun/drivers"
	"taskrun/drivers/taskstore"
)

// A wait ends with the task, with its time or with its context, whichever is
// first.
func TestAwait(t *testing.T) {
	t.Parallel()
	const never = time.Duration(1 << 62)
	for name, tt := range map[string]struct {
		end, timeout, cancel time.Duration
		ended                bool
		took                 time.Duration
	}{
		"the task ends":       {time.Second, 2 * time.Second, never, true, time.Second},
		"the time is over":    {3 * time.Second, 2 * time.Second, never, false, 2 * time.Second},
		"the context is done": {3 * time.Second, 2 * time.Second, time.Second, false, time.Second},
		"no time":             {time.Second, 0, never, false, 0},
		"ended, and no time":  {0, 0, never, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e := taskstore.NewLife("web")
				if tt.end == 0 {
					e.Set(drivers.ExitResult{}, time.Now())
				}
				defer time.AfterFunc(tt.end, func() { e.Set(drivers.ExitResult{}, time.Now()) }).Stop()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				defer time.AfterFunc(tt.cancel, cancel).Stop()
				began := time.Now()
				if ended := e.Await(ctx, tt.timeout); ended != tt.ended || time.Since(began) != tt.took {
					t.Errorf("ended: %v after %v, want %v after %v", ended, time.Since(began), tt.ended, tt.took)
				}
			})
		})
	}
}

// A context of a task ends with the task, and its goroutine with the context.
func TestContextOfATask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := taskstore.NewLife("web")
		ctx, cancel := e.Context(t.Context())
		defer cancel()
		canceled, cancel2 := e.Context(t.Context())
		if cancel2(); canceled.Err() == nil {
			t.Error("a canceled context goes on")
		}
		if synctest.Wait(); ctx.Err() != nil {
			t.Error("the context ends before the task")
		}
		e.Set(drivers.ExitResult{}, time.Now())
		if synctest.Wait(); ctx.Err() == nil {
			t.Error("the context goes on after the task")
		}
	})
}

// measured is a task with nothing but its life.
type measured struct{ *taskstore.Life }

// sample returns the samples of a task of a store.
func sample(t *testing.T, ctx context.Context, e *taskstore.Life, interval time.Duration, measure func() *drivers.TaskResourceUsage) <-chan *drivers.TaskResourceUsage {
	t.Helper()
	var s taskstore.Store[measured]
	s.Put("id", measured{e})
	samples, err := s.Sample(ctx, "id", interval, func(measured) *drivers.TaskResourceUsage { return measure() })
	if err != nil {
		t.Fatal(err)
	}
	return samples
}

// A task is measured until it ends, and a slow reader gets the latest sample.
func TestSample(t *testing.T) {
	t.Parallel()
	for interval, every := range map[time.Duration]time.Duration{0: time.Second, -1: time.Second, 5 * time.Second: 5 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			e := taskstore.NewLife("web")
			began, measured := time.Now(), 0
			samples := sample(t, t.Context(), e, interval, func() *drivers.TaskResourceUsage {
				if measured++; measured == 2 {
					return nil // unknown
				}
				return &drivers.TaskResourceUsage{Processes: measured}
			})
			for _, want := range []int{1, 3} {
				if s := <-samples; s == nil || s.Processes != want || time.Since(began) != time.Duration(want-1)*every {
					t.Errorf("interval %v: sample %+v after %v, want number %d", interval, s, time.Since(began), want)
				}
			}
			<-time.After(3*every + every/2) // numbers 4, 5 and 6
			if s := <-samples; s == nil || s.Processes != 6 {
				t.Errorf("interval %v: a slow reader gets %+v", interval, s)
			}
			ended := time.Now()
			e.Set(drivers.ExitResult{}, ended)
			if s, ok := <-samples; ok || time.Since(ended) > 0 {
				t.Errorf("interval %v: %v after its end a task has sample %+v", interval, time.Since(ended), s)
			}
		})
	}
}

// Measuring ends when the reader leaves, and does not begin if it has left.
func TestSampleEndsWithItsReader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := taskstore.NewLife("web")
		ctx, cancel := context.WithCancel(t.Context())
		measured := 0
		samples := sample(t, ctx, e, time.Second, func() *drivers.TaskResourceUsage {
			measured++
			return nil
		})
		<-time.After(2*time.Second + time.Millisecond)
		cancel()
		if s, ok := <-samples; ok || measured != 3 {
			t.Errorf("sample %+v after %d measurements", s, measured)
		}
	})
}
