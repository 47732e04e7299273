package engine

import (
	"testing"
	"time"
)

func TestNap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		left    time.Duration
		virtual bool
		want    time.Duration
	}{{8 * time.Hour, false, time.Minute}, {10 * time.Second, false, 10 * time.Second}, {8 * time.Hour, true, 8 * time.Hour}} {
		if got := nap(c.left, c.virtual); got != c.want {
			t.Errorf("%v, virtual %v: %v, want %v", c.left, c.virtual, got, c.want)
		}
	}
}
