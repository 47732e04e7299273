package ui

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
)

func TestClosedStdoutIsSeenWithoutWriting(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s, _, _ := Test()
	s.Out = w
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := s.WatchOut(cancel)
	_ = r.Close()
	<-ctx.Done()
	stop()
	if err := context.Cause(ctx); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("got %v", err)
	}
}

func TestOpenStdoutIsNotClosed(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	s, _, _ := Test()
	s.WatchOut(func(err error) { t.Error("memory:", err) })()
	s.Out = w
	s.WatchOut(func(err error) { t.Error("a pipe:", err) })()
}
