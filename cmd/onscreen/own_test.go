package onscreen

import (
	"os"
	"syscall"
	"testing"

	"taskrun/cmd/ui/screen"
)

// The Ctrl-C that ends an action does not stop the run.
func TestInterruptOfACommandIsDropped(t *testing.T) {
	t.Parallel()
	caught := make(chan os.Signal, 1)
	own := &OwnRun{Caught: caught} // a stop would panic: there is no run
	s := &Session{Own: own, model: screen.New(screen.Options{})}
	caught <- syscall.SIGINT
	own.tookOver(t.Context(), s)
	own.tookOver(t.Context(), s)
	if own.stopping || len(caught) > 0 {
		t.Errorf("stopping: %v; %d signals are left", own.stopping, len(caught))
	}
	(*OwnRun)(nil).tookOver(t.Context(), s)
}
