package event

import (
	"context"
	"io"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/hashicorp/nomad/api"
)

// source counts references.
type source struct{ refs int }

func (s *source) ReadAt([]byte, int64) (int, error) { return 0, io.EOF }
func (s *source) Retain()                           { s.refs++ }
func (s *source) Release()                          { s.refs-- }

func notice(i int) Notice { return Notice{Text: strconv.Itoa(i)} }

func TestSubscribersSeeEveryEventInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b Bus
		b.Publish(nil, "", notice(0)) // before there is a subscriber
		subs := []*Subscription{b.Subscribe(true), b.Subscribe(false)}
		const n = 1000
		go func() {
			for i := range n {
				b.Publish(nil, "", notice(i))
			}
			b.Close()
		}()
		for _, s := range subs {
			for i := range n {
				e, ok := s.Next(t.Context())
				if !ok || e.Body != Body(notice(i)) || e.Seq != uint64(i+2) {
					t.Fatalf("event %d: got %+v, %v", i, e, ok)
				}
			}
			if e, ok := s.Next(t.Context()); ok {
				t.Fatalf("an event after the end: %+v", e)
			}
		}
	})
}

func TestNextEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b Bus
		s := b.Subscribe(true)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			synctest.Wait() // until Next waits
			cancel()
		}()
		if _, ok := s.Next(ctx); ok {
			t.Error("Next returned an event")
		}
		s.Close()
		b.Publish(nil, "", notice(1)) // must not reach, or block on, a closed one
	})
}

func TestOutputIsHeldUntilTheNextEvent(t *testing.T) {
	t.Parallel()
	var b Bus
	s, deaf := b.Subscribe(true), b.Subscribe(false)
	defer deaf.Close()
	src := &source{}
	b.Publish(nil, "web", Output{Source: src, Length: 10})
	b.Publish(nil, "web", notice(1))
	if src.refs != 1 {
		t.Fatalf("%d hold the queued piece, want the one that wants output", src.refs)
	}
	if _, ok := s.Next(t.Context()); !ok || src.refs != 1 {
		t.Fatalf("while it is read: ok %v, held by %d", ok, src.refs)
	}
	if _, ok := s.Next(t.Context()); !ok || src.refs != 0 {
		t.Fatalf("after the next event: ok %v, held by %d", ok, src.refs)
	}
	b.Publish(nil, "web", Output{Source: src, Length: 10})
	s.Close()
	if src.refs != 0 {
		t.Errorf("after Close it is held by %d", src.refs)
	}
}

func TestAdjacentPiecesJoin(t *testing.T) {
	t.Parallel()
	var b Bus
	s := b.Subscribe(true)
	src := &source{}
	for i := range int64(1000) {
		b.Publish(nil, "web", Output{Source: src, Offset: i * 10, Length: 10})
	}
	b.Publish(nil, "web", Output{Source: src, Offset: 20000, Length: 5}) // not adjacent
	b.Close()
	var got []Output
	for {
		e, ok := s.Next(t.Context())
		if !ok {
			break
		}
		got = append(got, e.Body.(Output))
	}
	if len(got) != 2 || got[0].Length != 10000 || got[1].Offset != 20000 {
		t.Errorf("got %+v, want one piece of 10000 bytes and one more", got)
	}
	if src.refs != 0 {
		t.Errorf("still held by %d", src.refs)
	}
}

func TestSlowSubscriberSeesAGap(t *testing.T) {
	t.Parallel()
	var b Bus
	s := b.Subscribe(true)
	src := &source{}
	const piece = maxRetained / 4
	for i := range int64(6) {
		b.Publish(nil, "web", Output{Source: src, Offset: i * 2 * piece, Length: piece})
		b.Publish(nil, "web", TaskEvent{&api.TaskEvent{}})
	}
	b.Close()
	var read, lost int64
	events := 0
	for {
		e, ok := s.Next(t.Context())
		if !ok {
			break
		}
		switch body := e.Body.(type) {
		case Output:
			read += body.Length
		case Gap:
			lost += body.Bytes
		case TaskEvent:
			events++
		}
	}
	if read != 4*piece || lost != 2*piece || events != 6 {
		t.Errorf("read %d, lost %d bytes, %d events; want %d, %d, 6", read, lost, events, 4*piece, 2*piece)
	}
}
