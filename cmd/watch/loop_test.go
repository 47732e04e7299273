package watch

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a source whose changes a test makes.
type fake struct{ changes chan Change }

func (*fake) Watch([]Unit, time.Time)  {}
func (f *fake) Changes() <-chan Change { return f.changes }

// diary records what happened when.
type diary struct {
	mu    sync.Mutex
	began time.Time
	lines []string
}

func (d *diary) add(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf("%v ", time.Since(d.began))+fmt.Sprintf(format, args...))
}

// play runs a loop with a unit whose work takes some time, and changes its file at
// these times.
func play(t *testing.T, takes time.Duration, changes []time.Duration, lasts time.Duration) []string {
	t.Helper()
	d := &diary{}
	synctest.Test(t, func(t *testing.T) {
		d.began = time.Now()
		source := &fake{make(chan Change)}
		l := NewLoop(source, func(text string) { d.add("says %s", text) })
		l.Set([]Unit{{Key: "u", Do: func(ctx context.Context, changed string) {
			d.add("begin %s", changed)
			select {
			case <-ctx.Done():
				d.add("interrupted")
			case <-time.After(takes):
				d.add("end")
			}
		}}}, d.began)
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { l.Run(ctx) })
		synctest.Wait() // for the units
		for _, at := range changes {
			<-time.After(time.Until(d.began.Add(at)))
			source.changes <- Change{"u", "f"}
		}
		<-time.After(time.Until(d.began.Add(lasts)))
		cancel()
		running.Wait()
		d.add("over")
	})
	return d.lines
}

func TestLoop(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		takes   time.Duration
		changes []time.Duration
		lasts   time.Duration
		want    []string
	}{
		"two saves within 10 ms":  {time.Second, []time.Duration{0, 10 * ms}, 2 * time.Second, []string{"35ms begin f", "1.035s end", "2s over"}},
		"two saves":               {10 * ms, []time.Duration{0, 100 * ms}, time.Second, []string{"25ms begin f", "35ms end", "125ms begin f", "135ms end", "1s over"}},
		"a save during the work":  {time.Second, []time.Duration{0, 500 * ms}, 2 * time.Second, []string{"25ms begin f", "500ms interrupted", "525ms begin f", "1.525s end", "2s over"}},
		"the end during the work": {time.Hour, []time.Duration{0}, time.Second, []string{"25ms begin f", "1s interrupted", "1s over"}},
		"the end after a save":    {time.Hour, []time.Duration{0}, 10 * ms, []string{"10ms over"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := play(t, c.takes, c.changes, c.lasts); !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A unit that is replaced by an equal one continues; one that is gone is
// interrupted.
func TestUnitsChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &diary{began: time.Now()}
		unit := func(key string) Unit {
			return Unit{Key: key, Do: func(ctx context.Context, _ string) {
				d.add("%s begins", key)
				<-ctx.Done()
				d.add("%s is interrupted", key)
			}}
		}
		source := &fake{make(chan Change)}
		l := NewLoop(source, func(string) {})
		l.Set([]Unit{unit("a"), unit("b")}, d.began)
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { l.Run(ctx) })
		synctest.Wait()
		source.changes <- Change{"a", "f"}
		<-time.After(time.Millisecond)
		source.changes <- Change{"b", "f"}
		<-time.After(time.Second)
		l.Set([]Unit{unit("b"), unit("c")}, d.began)
		<-time.After(time.Second)
		source.changes <- Change{"a", "f"} // it is no longer a unit
		source.changes <- Change{"c", "f"}
		<-time.After(time.Second)
		cancel()
		running.Wait()
		slices.Sort(d.lines)
		want := []string{"1.001s a is interrupted", "2.026s c begins", "25ms a begins", "26ms b begins", "3.001s b is interrupted", "3.001s c is interrupted"}
		if !slices.Equal(d.lines, want) {
			t.Errorf("got %q, want %q", d.lines, want)
		}
	})
}
