package onscreen

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"taskrun/cmd/client"
)

// An order for many tasks reaches all of them, a limited number at the same time.
func TestOrderForManyTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		acting, most, acted := 0, 0, 0
		began, refused := time.Now(), errors.New("refused")
		err := toEach(make([]*client.Task, 3*ordersAtOnce), func(*client.Task) error {
			mu.Lock()
			acting++
			most = max(most, acting)
			mu.Unlock()
			<-time.After(time.Second)
			mu.Lock()
			defer mu.Unlock()
			acting--
			if acted++; acted == 100 {
				return refused
			}
			return nil
		})
		if !errors.Is(err, refused) || acted != 3*ordersAtOnce {
			t.Errorf("%v, after %d tasks", err, acted)
		}
		if most != ordersAtOnce || time.Since(began) != 3*time.Second {
			t.Errorf("%d tasks at the same time; it took %v", most, time.Since(began))
		}
	})
}
