package artifact

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"taskrun/engine/leaf/event"
)

// TestProgressIsLimited reports two downloads during ten minutes.
func TestProgressIsLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		said, live := make(chan string, 100), map[event.Progress]time.Duration{}
		p := progress{publish: func(body event.Body) {
			switch body := body.(type) {
			case event.Notice:
				said <- time.Since(start).String() + " " + body.Text
			case event.Progress:
				if _, ok := live[body]; !ok {
					live[body] = time.Since(start)
				}
			}
		}}
		file, repository := p.add("https://x/y"), p.add("git::https://x/z")
		file.begin(10 << 20)
		file.add(3 << 20)
		done := make(chan struct{})
		go p.report(done)
		<-time.After(4 * time.Second)
		synctest.Wait()
		if len(said) > 0 {
			t.Errorf("spoke early: %q", <-said)
		}
		<-time.After(2*time.Second + 100*time.Millisecond) // between two samples
		p.remove(repository)
		file.add(7 << 20)
		<-time.After(10*time.Minute - 6100*time.Millisecond)
		close(done)
		synctest.Wait()
		close(said)
		var got []string
		for line := range said {
			got = append(got, line)
		}
		want := []string{
			`5s downloading "https://x/y": 3.0 MiB of 10.0 MiB, 30 %`,
			`5s downloading "git::https://x/z", for 5s now`,
			`15s downloaded "https://x/y": unpacking 10.0 MiB`,
			`35s downloaded "https://x/y": unpacking 10.0 MiB`,
		}
		if diff := cmp.Diff(want, got[:min(4, len(got))]); diff != "" {
			t.Error(diff)
		}
		want2 := map[event.Progress]time.Duration{
			{What: "https://x/y", Done: 3 << 20, Total: 10 << 20}:  250 * time.Millisecond,
			{What: "git::https://x/z"}:                             250 * time.Millisecond,
			{What: "git::https://x/z", Over: true}:                 6*time.Second + 100*time.Millisecond,
			{What: "https://x/y", Done: 10 << 20, Total: 10 << 20}: 6*time.Second + 250*time.Millisecond,
		}
		if diff := cmp.Diff(want2, live); diff != "" {
			t.Error(diff)
		}
		if len(got) > 14 {
			t.Errorf("%d lines in ten minutes", len(got))
		}
	})
}
