package event

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// drain returns the queue of a subscription as text.
func drain(s *Subscription) (got []string) {
	for s.Ready() {
		e, ok := s.Next(context.Background())
		if !ok {
			return append(got, "end")
		}
		switch b := e.Body.(type) {
		case Notice:
			got = append(got, b.Text)
		case Progress:
			got = append(got, "progress")
		case Output:
			got = append(got, fmt.Sprintf("%s %v %d+%d", e.Task, b.Stream, b.Offset, b.Length))
		case Gap:
			got = append(got, fmt.Sprintf("%s %v lost %d", e.Task, b.Stream, b.Bytes))
		}
	}
	return got
}

func check(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestPublishedBodies(t *testing.T) {
	t.Parallel()
	var b Bus
	all, quiet := b.Subscribe(true), b.Subscribe(false)
	second := b.SubscribeTo(func(e Event) bool { return e.Seq%2 == 0 })
	src := &source{}
	b.Publish(nil, "", notice(1))
	b.Publish(nil, "web", Output{Source: src, Length: 1})
	b.Publish(nil, "web", Progress{})
	b.Commit([]Event{{Body: notice(4)}, {Body: notice(5)}}, nil)
	check(t, "with output", drain(all), "1", "web stdout 0+1", "progress", "4", "5")
	check(t, "without", drain(quiet), "1", "4", "5")
	check(t, "chosen", drain(second), "web stdout 0+1", "4")

	b.Publish(nil, "", notice(6))
	quiet.Finish() // earlier events can still be read
	b.Publish(nil, "", notice(7))
	check(t, "a finished one", drain(quiet), "6", "end")
	all.Close()
	check(t, "a closed one", drain(all), "end")
	check(t, "another", drain(second), "6")
	b.Close()
	b.Publish(nil, "", notice(8))
	b.Commit([]Event{{Body: notice(9)}}, func([]Event) { t.Error("a closed bus has kept something") })
	check(t, "after the end", drain(second), "end")
	check(t, "a late one", drain(b.Subscribe(true)), "end")
	if src.refs != 0 {
		t.Errorf("output is held by %d", src.refs)
	}
}

// The output of one task in one stream is merged as long as nothing comes
// between.
func TestUnmergedPieces(t *testing.T) {
	t.Parallel()
	var b Bus
	s := b.Subscribe(true)
	one, other, alloc := &source{}, &source{}, &Alloc{}
	for _, e := range []Event{
		{Task: "a", Body: Output{Source: one, Length: 1}},
		{Task: "a", Body: Output{Source: one, Offset: 1, Length: 1}}, // joins
		{Body: notice(1)},
		{Task: "a", Body: Output{Source: one, Offset: 2, Length: 1}},
		{Task: "b", Body: Output{Source: one, Offset: 3, Length: 1}},
		{Task: "b", Alloc: alloc, Body: Output{Source: one, Offset: 4, Length: 1}},
		{Task: "b", Alloc: alloc, Body: Output{Source: one, Stream: Stderr, Offset: 5, Length: 1}},
		{Task: "b", Alloc: alloc, Body: Output{Source: other, Stream: Stderr, Offset: 6, Length: 1}},
		{Task: "b", Alloc: alloc, Body: Output{Source: other, Stream: Stderr, Offset: 8, Length: 1}},
		{Task: "b", Alloc: alloc, Body: Output{Source: other, Stream: Stderr, Offset: 8, Length: 1}},
	} {
		b.Publish(e.Alloc, e.Task, e.Body)
	}
	check(t, "output", drain(s), "a stdout 0+2", "1", "a stdout 2+1", "b stdout 3+1", "b stdout 4+1",
		"b stderr 5+1", "b stderr 6+1", "b stderr 8+1", "b stderr 8+1")
	s.Close()
	if one.refs != 0 || other.refs != 0 {
		t.Errorf("held by %d and %d", one.refs, other.refs)
	}
}

// A slow subscriber gets as much as the limit allows, and one gap for each
// stream; after reading, it gets output again.
func TestSlowSubscriber(t *testing.T) {
	t.Parallel()
	var b Bus
	s := b.Subscribe(true)
	src := &source{}
	write := func(task string, stream Stream, offset, n int64) {
		b.Publish(nil, task, Output{Source: src, Stream: stream, Offset: offset, Length: n})
	}
	write("a", Stdout, 0, maxRetained) // the maximum
	write("a", Stdout, maxRetained, 1)
	write("a", Stderr, 0, 2)
	write("b", Stdout, 0, 3)
	write("a", Stdout, maxRetained+1, 4)
	check(t, "too much", drain(s), fmt.Sprintf("a stdout 0+%d", maxRetained), "a stdout lost 5", "a stderr lost 2", "b stdout lost 3")
	write("a", Stdout, maxRetained+5, 1)
	check(t, "then", drain(s), fmt.Sprintf("a stdout %d+1", maxRetained+5))
	for i := range int64(maxQueued + 2) {
		write("a", Stdout, 2*i, 1)
	}
	if n := len(s.queue); n != maxQueued+1 || s.queue[n-1].Body != Body(Gap{Stream: Stdout, Bytes: 2}) {
		t.Errorf("of many pieces it has %d, the last one %+v", n, s.queue[n-1])
	}
	b.Close()
	s.Close() // with pieces in the queue
	if src.refs != 0 {
		t.Errorf("held by %d", src.refs)
	}
}

// The number of pieces in memory is limited; another one waits until the first was
// shown or the reader is gone.
func TestPiecesInMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b Bus
		s := b.Subscribe(true)
		pieces, stopped := NewPieces(2), make(chan struct{})
		sent := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 5 {
				pieces.Publish(&b, time.Now(), nil, "a", Stderr, []byte("text"), stopped)
				sent++
			}
		}()
		synctest.Wait()
		if sent != 2 {
			t.Errorf("%d were sent at first", sent)
		}
		e, _ := s.Next(t.Context())
		out := e.Body.(Output)
		for _, tt := range []struct {
			at, room int
			want     string
			err      error
		}{{0, 4, "text", nil}, {0, 2, "te", nil}, {1, 4, "ext", io.EOF}, {4, 1, "", io.EOF}, {9, 1, "", io.EOF}} {
			buf := make([]byte, tt.room)
			if n, err := out.Source.ReadAt(buf, int64(tt.at)); string(buf[:n]) != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%d bytes at %d are %q, %v", tt.room, tt.at, buf[:n], err)
			}
		}
		if e.Task != "a" || out.Stream != Stderr || out.Length != 4 {
			t.Errorf("it is %+v", e)
		}
		if _, ok := s.Next(t.Context()); !ok { // the first was shown
			t.Error("there is no second one")
		}
		synctest.Wait()
		if sent != 3 {
			t.Errorf("%d were sent when the first was shown", sent)
		}
		close(stopped)
		<-done
		s.Close()
		for range 3 { // without a subscriber none keeps its place
			pieces.Publish(&b, time.Now(), nil, "a", Stdout, []byte("text"), nil)
		}
	})
}
