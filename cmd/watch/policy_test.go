package watch

import (
	"testing"
	"time"
)

func TestPolicy(t *testing.T) {
	t.Parallel()
	start := time.Unix(0, 0)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	due := func(t *testing.T, p *Policy, want int) {
		t.Helper()
		got, ok := p.Due()
		if ok != (want >= 0) || ok && !got.Equal(at(want)) {
			t.Errorf("due at %v (%t), want %d ms", got.Sub(start), ok, want)
		}
	}
	tick := func(t *testing.T, p *Policy, ms int, want string) {
		t.Helper()
		if path, begin := p.Tick(at(ms)); begin != (want != "") || path != want {
			t.Errorf("after %d ms work begins: %t, %q; want %q", ms, begin, path, want)
		}
	}
	changed := func(t *testing.T, p *Policy, path string, ms int, want Verdict) {
		t.Helper()
		if got := p.Changed(path, at(ms)); got != want {
			t.Errorf("after %d ms the verdict on %s is %d, want %d", ms, path, got, want)
		}
	}
	t.Run("a burst is one change", func(t *testing.T) {
		t.Parallel()
		p := &Policy{}
		due(t, p, -1)
		changed(t, p, "a", 0, Wait)
		due(t, p, 25)
		changed(t, p, "b", 10, Wait)
		tick(t, p, 25, "")
		tick(t, p, 35, "b")
		due(t, p, -1)
		p.Done(at(40))
		due(t, p, -1)
	})
	t.Run("a burst does not delay the work forever", func(t *testing.T) {
		t.Parallel()
		p := &Policy{}
		for ms := 0; ms <= 990; ms += 10 {
			changed(t, p, "a", ms, Wait)
			tick(t, p, ms, "")
		}
		due(t, p, 1000)
		tick(t, p, 1000, "a")
	})
	t.Run("a change interrupts the work once", func(t *testing.T) {
		t.Parallel()
		p := &Policy{}
		changed(t, p, "a", 0, Wait)
		tick(t, p, 25, "a")
		changed(t, p, "b", 100, Cancel)
		changed(t, p, "b", 110, Wait)
		due(t, p, -1) // not before the work has ended
		p.Done(at(300))
		tick(t, p, 300, "b")
	})
	t.Run("work that changes its own files ends", func(t *testing.T) {
		t.Parallel()
		p := &Policy{}
		changed(t, p, "out", 0, Wait)
		ms, begun := 25, 0
		for range 100 {
			if _, ok := p.Due(); !ok {
				break
			}
			tick(t, p, ms, "out")
			begun++
			verdict := p.Changed("out", at(ms+5))
			if verdict == Endless {
				break
			}
			p.Done(at(ms + 10))
			ms += 35
		}
		if begun != rounds+1 {
			t.Errorf("the work began %d times", begun)
		}
		changed(t, p, "out", ms+6, Wait)
		p.Done(at(ms + 10))
		changed(t, p, "out", ms+20, Wait) // written just before the end
		due(t, p, -1)
		changed(t, p, "out", ms+2000, Wait)
		tick(t, p, ms+2025, "out")
	})
	t.Run("saves during long work are no loop", func(t *testing.T) {
		t.Parallel()
		p := &Policy{}
		changed(t, p, "a", 0, Wait)
		tick(t, p, 25, "a")
		for i := 1; i < rounds; i++ {
			changed(t, p, "a", 1000*i, Cancel)
			p.Done(at(1000*i + 1))
			tick(t, p, 1000*i+25, "a")
		}
	})
}
