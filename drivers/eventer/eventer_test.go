package eventer_test

import (
	"context"
	"fmt"
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

func TestEverybodyGetsEveryEventInOrder(t *testing.T) {
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

// One that stalls loses what has waited for 2 s; nobody else waits for it.
func TestStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var e eventer.Eventer
		begin := time.Now()
		stalled, quick := listen(ctx, t, &e), listen(ctx, t, &e)
		for i := range 5 { // at 0 s, 1 s, … 4 s
			e.Emit(drivers.TaskEvent{Message: fmt.Sprint(i)})
			event := <-quick
			if event.Message != fmt.Sprint(i) || time.Since(event.Timestamp) != 0 {
				t.Errorf("event %d is %+v, %v late", i, event, time.Since(event.Timestamp))
			}
			<-time.After(time.Second)
		}
		if took := time.Since(begin); took != 5*time.Second {
			t.Errorf("it took %v", took)
		}
		synctest.Wait()
		// Lost at 2 s, 3 s, 4 s and, just now, 5 s; the last one waits.
		if event := <-stalled; event.Message != "4" {
			t.Errorf("the stalled one got %+v", event)
		}
		e.Emit(drivers.TaskEvent{Message: "5", Timestamp: begin})
		if event := <-stalled; event.Message != "5" || !event.Timestamp.Equal(begin) {
			t.Errorf("then it got %+v", event)
		}
		<-quick
	})
}
