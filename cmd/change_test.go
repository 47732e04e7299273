package cmd

import (
	"errors"
	"syscall"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/ui"
	"taskrun/cmd/ui/answer"
	"taskrun/engine/leaf/event"
)

// brokenOut is a stdout that was closed.
type brokenOut struct{}

func (brokenOut) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// TestRolloutScreen shows the deployments and messages of a change, and ends
// with stdout.
func TestRolloutScreen(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]bool{"shown": false, "broken": true} {
		streams, out, _ := ui.Test()
		if broken {
			streams.Out = brokenOut{}
		}
		var said []string
		screen := &rolloutScreen{
			Notices: func(text string) { said = append(said, text) },
			show:    answer.Rollout{To: answer.To{Streams: streams, Mode: ui.Plain}}, broken: make(chan error, 1),
		}
		var bus event.Bus
		events := bus.Subscribe(false)
		bus.Publish(nil, "", event.Notice{Text: "trying again"})
		bus.Publish(nil, "", event.Deployment{API: &api.Deployment{JobVersion: 3, Status: "successful", StatusDescription: "so it is"}})
		bus.Close()
		screen.Run(t.Context(), events)
		if len(said) != 1 || said[0] != "trying again" {
			t.Errorf("%s: said %q", name, said)
		}
		select {
		case err := <-screen.Broken():
			if !broken || !errors.Is(err, syscall.EPIPE) {
				t.Errorf("%s: %v", name, err)
			}
		default:
			if broken || out.String() != "✓ version 3: so it is\n" {
				t.Errorf("%s: shown %q", name, out)
			}
		}
	}
}

// A revert without a version goes back to one that ran.
func TestLastGoodVersion(t *testing.T) {
	t.Parallel()
	stable, unstable := func(v uint64) *api.Job { return &api.Job{Version: &v, Stable: new(true)} }, func(v uint64) *api.Job { return &api.Job{Version: &v} }
	stop := stable(2)
	stop.Stop = new(true)
	for name, c := range map[string]struct {
		versions []*api.Job
		want     int // -1: none
	}{
		"the last":                   {[]*api.Job{stable(2), stable(1), stable(0)}, 1},
		"not one that failed":        {[]*api.Job{stable(2), unstable(1), stable(0)}, 0},
		"not that of a stop":         {[]*api.Job{stable(3), stop, stable(1)}, 1},
		"none but the current one":   {[]*api.Job{stable(0)}, -1},
		"none that was ever healthy": {[]*api.Job{unstable(1), unstable(0)}, -1},
	} {
		got := -1
		if v := lastGood(c.versions); v != nil {
			got = int(*v) //nolint:gosec // small
		}
		if got != c.want {
			t.Errorf("%s: version %d, want %d", name, got, c.want)
		}
	}
}
