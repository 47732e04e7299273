package process

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
)

// A run that was shut down adopts nothing more, and does not touch the process.
func TestAdoptAfterShutdown(t *testing.T) {
	t.Parallel()
	o := outlive(t)
	run := NewRun()
	startIn(t, run, "exit 0").mustEndWith(t, 0, 0)
	if n, err := run.Shutdown(context.Background()); n != 0 || err != nil {
		t.Fatalf("%d processes were killed: %v", n, err)
	}
	if p, err := run.Adopt(Adoption{ID: o.id, Env: o.env}); p != nil || !errors.Is(err, errShutdown) {
		t.Errorf("adopted %v, %v", p, err)
	}
	if err := syscall.Kill(o.id.PID, 0); err != nil {
		t.Errorf("the process is gone: %v", err)
	}
	p, err := newRun(t).Adopt(Adoption{ID: o.id, Env: o.env})
	if err != nil {
		t.Fatal(err)
	}
	o.end(t)
	<-p.Gone()
	if err := p.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("after the end the error is %v", err)
	}
}
