package source

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// Events of one instant come in canonical order, whichever goroutine was first, and
// to the screen after those that decide have decided.
func TestSettledInstants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var bus event.Bus
		s := &Settled{settle: synctest.Wait, from: bus.Subscribe(true)}
		deciding, showing := s.Subscribe(false), s.Subscribe(true)
		var got []string
		list := func(who string, sub *event.Subscription) {
			for e, ok := sub.Next(context.Background()); ok; e, ok = sub.Next(context.Background()) {
				got = append(got, fmt.Sprintf("%s %d %s", who, e.Seq, e.Task)) // never two at once
			}
		}
		go list("decides", deciding)
		go list("shows", showing)
		go s.send(t.Context())
		alloc := &event.Alloc{Job: "j", Group: "g", Name: "j.g[0]", ID: "1"}
		begin := time.Now()
		for _, task := range []string{"c", "a", "b"} {
			go func() {
				for n := 1; n <= 2; n++ {
					<-time.After(time.Until(begin.Add(time.Duration(n) * time.Hour)))
					bus.Publish(alloc, task, event.TaskEvent{TaskEvent: &api.TaskEvent{Type: api.TaskStarted}})
				}
			}()
		}
		<-time.After(3 * time.Hour)
		bus.Close()
		synctest.Wait()
		var want []string
		for n := range 2 {
			for _, who := range []string{"decides", "shows"} {
				for i, task := range []string{"a", "b", "c"} {
					want = append(want, fmt.Sprintf("%s %d %s", who, 3*n+i+1, task))
				}
			}
		}
		if got, want := strings.Join(got, "\n"), strings.Join(want, "\n"); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}
