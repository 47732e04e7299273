package artifact

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestProgressIsNoFlood reports two downloads over ten minutes.
func TestProgressIsNoFlood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p progress
		start := time.Now()
		file, repository := p.add("https://x/y"), p.add("git::https://x/z")
		file.begin(10 << 20)
		file.add(3 << 20)
		done := make(chan struct{})
		said := make(chan string, 100)
		go p.report(done, func(line string) { said <- time.Since(start).String() + " " + line })
		<-time.After(4 * time.Second)
		synctest.Wait()
		if len(said) > 0 {
			t.Errorf("spoke early: %q", <-said)
		}
		<-time.After(2 * time.Second)
		p.remove(repository)
		file.add(7 << 20)
		<-time.After(10*time.Minute - 6*time.Second)
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
		if len(got) > 14 {
			t.Errorf("%d lines in ten minutes", len(got))
		}
	})
}
