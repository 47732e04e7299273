package docker

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"

	"taskrun/drivers"
)

// listener receives the events of a driver.
type listener struct{ events <-chan drivers.TaskEvent }

func listen(t *testing.T, d *Driver) listener {
	t.Helper()
	ch, err := d.TaskEvents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return listener{ch}
}

// await returns the next event with a text.
func (l listener) await(t *testing.T, text string) drivers.TaskEvent {
	t.Helper()
	timer := time.NewTimer(30 * time.Second)
	defer timer.Stop()
	for {
		select {
		case e := <-l.events:
			if strings.Contains(e.Message, text) {
				return e
			}
		case <-timer.C:
			t.Fatalf("no event contains %q", text)
		}
	}
}

// await returns when a condition holds, which it checks under the lock.
func (e *fakeEngine) await(t *testing.T, holds func() bool) {
	t.Helper()
	timer := time.NewTimer(30 * time.Second)
	defer timer.Stop()
	for {
		e.mu.Lock()
		ok, change := holds(), e.change
		e.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-change:
		case <-timer.C:
			t.Fatal("it took too long")
		}
	}
}

// containerState is the state of the only container.
func (e *fakeEngine) containerState() container.ContainerState {
	for _, c := range e.containers {
		return c.State.Status
	}
	return ""
}

func signalTo(pid int) error { return syscall.Kill(pid, syscall.SIGTERM) }
