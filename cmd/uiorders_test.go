package cmd

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"taskrun/cmd/client"
)

// An order for many tasks reaches all of them, a limited number at the same time.
func TestOrderForManyTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var acting, most, acted atomic.Int32
		began, refused := time.Now(), errors.New("refused")
		err := toEach(make([]*client.Task, 3*ordersAtOnce), func(*client.Task) error {
			now := acting.Add(1)
			most.Store(max(most.Load(), now))
			<-time.After(time.Second)
			acting.Add(-1)
			if acted.Add(1) == 100 {
				return refused
			}
			return nil
		})
		if !errors.Is(err, refused) || acted.Load() != 3*ordersAtOnce {
			t.Errorf("%v, after %d tasks", err, acted.Load())
		}
		if most.Load() != ordersAtOnce || time.Since(began) != 3*time.Second {
			t.Errorf("%d tasks at the same time; it took %v", most.Load(), time.Since(began))
		}
	})
}
