package ui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
)

// gate is a stream whose reader takes nothing until it is opened.
type gate struct {
	open chan struct{}
	got  bytes.Buffer
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	return g.got.Write(p)
}

// broken is a stream that cannot be written to.
type broken struct{ tried chan struct{} }

func (b broken) Write([]byte) (int, error) {
	close(b.tried)
	return 0, io.ErrClosedPipe
}

func TestBehindKeepsTheOrderOfBothStreams(t *testing.T) {
	t.Parallel()
	g := &gate{open: make(chan struct{})}
	behind, written := (&Streams{Out: g, Err: g}).Behind()
	text := []byte("a")
	for range 3 { // without a reader
		for _, w := range []io.Writer{behind.Out, behind.Err} {
			if n, err := w.Write(text); n != 1 || err != nil {
				t.Fatal(n, err)
			}
			text[0]++
		}
	}
	close(g.open)
	written(t.Context())
	if got := g.got.String(); got != "abcdef" {
		t.Errorf("got %q", got)
	}
}

func TestBehindDoesNotWaitForAReaderWhenCanceled(t *testing.T) {
	t.Parallel()
	g := &gate{open: make(chan struct{})}
	behind, written := (&Streams{Out: g, Err: g}).Behind()
	if _, err := io.WriteString(behind.Out, "a"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	written(ctx)
	close(g.open)
	written(t.Context())
}

func TestBehindReportsAnEarlierError(t *testing.T) {
	t.Parallel()
	b, kept := broken{make(chan struct{})}, &bytes.Buffer{}
	behind, written := (&Streams{Out: b, Err: kept}).Behind()
	if _, err := io.WriteString(behind.Out, "a"); err != nil {
		t.Fatal(err)
	}
	<-b.tried
	_, _ = io.WriteString(behind.Err, "b") // after the broken piece
	written(t.Context())
	if _, err := io.WriteString(behind.Out, "c"); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v", err)
	}
	if kept.String() != "b" {
		t.Errorf("stderr has %q", kept)
	}
}
