package drivers_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"taskrun/drivers"
)

// fingerprints is a driver with scripted streams: each sends some values before
// it ends. A nil one cannot be opened.
type fingerprints struct {
	drivers.Driver
	streams [][]drivers.HealthState
}

func (d *fingerprints) Fingerprint(ctx context.Context) (<-chan drivers.Fingerprint, error) {
	if len(d.streams) == 0 { // the last one stays open
		ch := make(chan drivers.Fingerprint, 1)
		ch <- drivers.Fingerprint{Health: "last"}
		context.AfterFunc(ctx, func() { close(ch) })
		return ch, nil
	}
	stream := d.streams[0]
	d.streams = d.streams[1:]
	if stream == nil {
		return nil, errors.New("no way")
	}
	ch := make(chan drivers.Fingerprint, len(stream))
	for _, health := range stream {
		ch <- drivers.Fingerprint{Health: health}
	}
	close(ch)
	return ch, nil
}

func TestFollowOpensStreamsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const sick = drivers.HealthUnhealthy
		d := &fingerprints{streams: [][]drivers.HealthState{
			{"one", "two"}, nil, {}, nil, nil, nil, {"three"},
		}}
		type report struct {
			At     time.Duration
			Health drivers.HealthState
		}
		var got []report
		ctx, cancel := context.WithCancel(t.Context())
		begin := time.Now()
		done := make(chan struct{})
		go func() {
			defer close(done)
			drivers.Follow(ctx, d, func(f drivers.Fingerprint) {
				got = append(got, report{time.Since(begin), f.Health})
				if f.Health == sick && f.HealthDescription == "" {
					t.Error("it is unhealthy without a reason")
				}
			})
		}()
		<-time.After(time.Hour)
		cancel()
		<-done
		s := time.Second
		want := []report{
			{0, "one"},
			{0, "two"},
			{0, sick},
			{5 * s, sick},
			{15 * s, sick},
			{35 * s, sick},
			{75 * s, sick},
			{155 * s, sick},
			{275 * s, "three"},
			{275 * s, sick},
			{280 * s, "last"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
