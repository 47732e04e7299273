package eventer_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"taskrun/drivers"
	"taskrun/drivers/eventer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func listen(ctx context.Context, t *testing.T, e *eventer.Eventer) <-chan drivers.TaskEvent {
	t.Helper()
	ch, err := e.TaskEvents(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func TestListenersGetEventsInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var e eventer.Eventer
		e.Emit(drivers.TaskEvent{Message: "to nobody"})
		var got [3][]string
		var all sync.WaitGroup
		for i := range got {
			ch := listen(ctx, t, &e)
			all.Go(func() {
				for event := range ch {
					got[i] = append(got[i], event.Message)
				}
			})
		}
		var want []string
		for i := range 100 {
			e.Emit(drivers.TaskEvent{Message: strconv.Itoa(i)})
			want = append(want, strconv.Itoa(i))
		}
		synctest.Wait()
		cancel()
		all.Wait() // the channels are closed
		for i := range got {
			if diff := cmp.Diff(want, got[i]); diff != "" {
				t.Errorf("listener %d (-want +got):\n%s", i, diff)
			}
		}
		e.Emit(drivers.TaskEvent{Message: "to nobody"})
	})
}

// A slow listener loses the oldest events, and delays no other.
func TestStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var e eventer.Eventer
		begin := time.Now()
		stalled, quick := listen(ctx, t, &e), listen(ctx, t, &e)
		const events = 1000
		for i := range events {
			e.Emit(drivers.TaskEvent{Message: strconv.Itoa(i)})
			if event := <-quick; event.Message != strconv.Itoa(i) || !event.Timestamp.Equal(begin) {
				t.Errorf("event %d is %+v", i, event)
			}
		}
		e.Emit(drivers.TaskEvent{Message: strconv.Itoa(events), Timestamp: begin.Add(-time.Hour)})
		cancel()
		var got []string
		for event := range stalled {
			got = append(got, event.Message)
			if event.Message == strconv.Itoa(events) && !event.Timestamp.Equal(begin.Add(-time.Hour)) {
				t.Errorf("its time is %v", event.Timestamp)
			}
		}
		if len(got) < 100 || len(got) == events+1 {
			t.Fatalf("it got %d of %d events", len(got), events+1)
		}
		for i, message := range got {
			if want := strconv.Itoa(events + 1 - len(got) + i); message != want {
				t.Fatalf("event %d is %q, want %q", i, message, want)
			}
		}
	})
}

// An event says which task it is of.
func TestTell(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var e eventer.Eventer
	events := listen(ctx, t, &e)
	e.Tell(&drivers.TaskConfig{AllocID: "alloc", Name: "task"}, drivers.TaskEvent{TaskName: "another", Message: "text"})
	got := <-events
	got.Timestamp = time.Time{}
	if diff := cmp.Diff(drivers.TaskEvent{AllocID: "alloc", TaskName: "task", Message: "text"}, got); diff != "" {
		t.Error(diff)
	}
	cancel()
	for range events { // until it is closed
	}
}
