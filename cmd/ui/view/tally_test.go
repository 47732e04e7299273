package view

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/ui"
	"taskrun/engine/leaf/event"
)

func TestTally(t *testing.T) {
	t.Parallel()
	type taken struct {
		after time.Duration
		step  string
		n     int
	}
	for name, c := range map[string]struct {
		taken []taken
		want  string // * for each step with a line of its own, then the counts, for each second
	}{
		"few":                         {[]taken{{0, "a", maxSteps}, {0, "b", maxSteps}}, "****** []"},
		"more":                        {[]taken{{0, "a", 5}, {0, "b", 4}}, "****** [a: 2 more tasks b: 1 more task]"},
		"few in each of two seconds":  {[]taken{{0, "a", 3}, {time.Second, "a", 3}}, "***[]*** []"},
		"the next second":             {[]taken{{0, "a", 4}, {time.Second, "a", 2}}, "***[a: 1 more task] [a: 2 more tasks]"},
		"the second but one":          {[]taken{{0, "a", 4}, {2 * time.Second, "a", 2}}, "***[a: 1 more task]** []"},
		"another one goes on":         {[]taken{{0, "a", 4}, {time.Second, "b", 1}, {time.Second, "a", 1}}, "***[a: 1 more task]*[]* []"},
		"a clock that was put back":   {[]taken{{time.Hour, "a", 4}, {-time.Minute, "a", 4}}, "*** [a: 5 more tasks]"},
		"just before the second ends": {[]taken{{0, "a", 3}, {time.Second - 1, "a", 1}}, "*** [a: 1 more task]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all tally
			var got strings.Builder
			show := func(counts []*count) {
				var lines []string
				for _, c := range counts {
					lines = append(lines, c.text())
				}
				fmt.Fprint(&got, lines)
			}
			now := begin
			for _, step := range c.taken {
				now = now.Add(step.after)
				for range step.n {
					if all.counting && now.Sub(all.begin) >= tallyTime {
						show(all.pass(now))
					}
					if all.take(now, kind{step.step, "task"}) {
						got.WriteByte('*')
					}
				}
			}
			got.WriteByte(' ')
			show(all.end())
			if diff := cmp.Diff(c.want, got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// large returns a run of a group with n tasks t0, t1, …
func large(t *testing.T, n, columns int, opts Options) (*stage, *event.Alloc) {
	t.Helper()
	tasks := make([]*api.Task, n)
	for i := range tasks {
		tasks[i] = task(fmt.Sprintf("t%d", i))
	}
	opts.Jobs, opts.Bare = []*api.Job{job("j", 1, tasks...)}, true
	return newStage(t, columns, opts), alloc("j", 0, "11111111")
}

// A run whose tasks are few shows each step, as does --verbose.
func TestStepsOfFewTasksHaveLinesOfTheirOwn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tasks int
		opts  Options
		want  int
	}{
		"few":     {manyTasks, Options{}, manyTasks},
		"many":    {manyTasks + 1, Options{}, maxSteps + 1},
		"verbose": {manyTasks + 1, Options{Verbose: true}, manyTasks + 1},
	} {
		s, a := large(t, c.tasks, 0, c.opts)
		for i := range c.tasks {
			s.happens(a, fmt.Sprintf("t%d", i), event.Received())
		}
		s.shows()
		s.d.view.end(Result{})
		s.d.rest()
		if got := strings.Count(s.err.String(), "Received"); got != c.want {
			t.Errorf("%s: %d lines, want %d", name, got, c.want)
		}
	}
}

// In a large run every failure has a line immediately, and its effects on other
// tasks are counted.
func TestLargeRun(t *testing.T) {
	t.Parallel()
	const n = 200
	s, a := large(t, n, 80, Options{})
	each := func(do func(name string, i int)) {
		for i := range n {
			do(fmt.Sprintf("t%d", i), i)
		}
	}
	s.say(a, "", event.AllocStatus{Status: "pending", Retry: -1})
	each(func(name string, _ int) { s.happens(a, name, event.Received()) })
	s.after(10 * time.Millisecond)
	each(func(name string, _ int) { s.happens(a, name, event.Setup("Building Task Directory")) })
	each(func(name string, i int) {
		if i == 100 {
			s.after(time.Second)
		}
		s.running(a, name, 0)
	})
	s.after(time.Minute)
	s.dies(a, "t7", 1, 0, "")
	for _, name := range []string{"t20", "t21", "t22", "t23", "t24"} {
		s.dies(a, name, 3, 0, "no more")
	}
	each(func(name string, i int) {
		if i != 7 && (i < 20 || i > 24) {
			s.happens(a, name, event.SiblingFailed("t20"), event.Killing(5*time.Second))
		}
	})
	s.after(2 * time.Second)
	each(func(name string, i int) {
		if i != 7 && (i < 20 || i > 24) {
			s.dies(a, name, 143, 0, "")
		}
	})
	s.say(a, "", event.AllocStatus{Status: "failed", Description: "Failed tasks", Retry: -1})
	s.ends(Result{ExitCode: 1})
	golden(t, "large-80", s.screen.Bytes())
}

// Counts are shown after a second even if nothing else happens.
func TestCountsAreShownWithinASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, a := large(t, 30, 80, Options{Time: ui.TimeNone})
		s.now = time.Now()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.d.Run(t.Context(), s.sub)
		}()
		for i := range 30 {
			s.happens(a, fmt.Sprintf("t%d", i), event.Received())
		}
		shown := func() string {
			synctest.Wait()
			return s.window.next()
		}
		if got := strings.Count(shown(), "\n"); got != maxSteps {
			t.Errorf("%d lines at once", got)
		}
		<-time.After(tallyTime - 1)
		if got := shown(); got != "" {
			t.Errorf("too early: %q", got)
		}
		<-time.After(1)
		if got := shown(); got != "    · Received: 27 more tasks\n" {
			t.Errorf("after a second: %q", got)
		}
		<-time.After(time.Hour)
		if got := shown(); got != "" {
			t.Errorf("later: %q", got)
		}
		s.bus.Close()
		<-ended
	})
}
