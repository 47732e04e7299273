package restart

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

// A group's policy is read literally; without one, nothing is replaced.
func TestReschedulePolicyOf(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		block *api.ReschedulePolicy
		want  ReschedulePolicy
	}{
		"none":  {nil, ReschedulePolicy{}},
		"empty": {&api.ReschedulePolicy{}, ReschedulePolicy{}},
		"whole": {
			&api.ReschedulePolicy{
				Attempts: new(2), Interval: new(time.Hour), Delay: new(time.Second), DelayFunction: new("fibonacci"), MaxDelay: new(time.Minute), Unlimited: new(true),
			},
			ReschedulePolicy{2, time.Hour, time.Second, "fibonacci", time.Minute, true},
		},
	} {
		got := ReschedulePolicyOf(tt.block)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if _, ok := got.Next(time.Now(), nil); ok != (name == "whole") {
			t.Errorf("%s: replaced %v", name, ok)
		}
	}
}

// If a delay is as long as the interval, no attempt fits into the interval.
func TestDelaysAsLongAsTheInterval(t *testing.T) {
	t.Parallel()
	failed := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	earlier := []Replacement{{Time: failed.Add(-time.Minute)}}
	for delay, want := range map[time.Duration]bool{time.Hour - 1: true, time.Hour: false, time.Hour + 1: false} {
		p := ReschedulePolicy{Attempts: 3, Interval: time.Hour, Delay: delay, Function: "constant"}
		if got, ok := p.Next(failed, earlier); got != delay || ok != want {
			t.Errorf("a delay of %v: %v, %t", delay, got, ok)
		}
	}
}

// A limited policy remembers the replacements in its interval, an unlimited one
// the last few.
func TestKeep(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(minutes ...int) (list []Replacement) {
		for _, m := range minutes {
			list = append(list, Replacement{Time: begin.Add(time.Duration(m) * time.Minute)})
		}
		return list
	}
	for name, tt := range map[string]struct {
		policy  ReschedulePolicy
		earlier []Replacement
		want    []Replacement
	}{
		"the first":               {ReschedulePolicy{Interval: time.Hour}, nil, at(100)},
		"within the interval":     {ReschedulePolicy{Interval: time.Hour}, at(41, 99), at(41, 99, 100)},
		"at the interval's begin": {ReschedulePolicy{Interval: time.Hour}, at(39, 40, 41), at(41, 100)},
		"all are too old":         {ReschedulePolicy{Interval: time.Hour}, at(1, 2), at(100)},
		"few of an unlimited":     {ReschedulePolicy{Unlimited: true}, at(1, 2, 3, 4, 5), at(1, 2, 3, 4, 5, 100)},
		"many of an unlimited":    {ReschedulePolicy{Unlimited: true}, at(1, 2, 3, 4, 5, 6, 7), at(3, 4, 5, 6, 7, 100)},
	} {
		before := append([]Replacement(nil), tt.earlier...)
		if diff := cmp.Diff(tt.want, tt.policy.Keep(tt.earlier, at(100)[0])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(before, append([]Replacement(nil), tt.earlier...)); diff != "" {
			t.Errorf("%s: what was remembered has changed (-want +got):\n%s", name, diff)
		}
	}
}

// A task's policy depends on its block and its place in the group.
func TestPolicyOf(t *testing.T) {
	t.Parallel()
	task := &api.Task{RestartPolicy: &api.RestartPolicy{Attempts: new(3), Interval: new(time.Hour), Delay: new(time.Second), Mode: new("delay")}}
	for jobType, onSuccess := range map[string]bool{"service": true, "batch": false} {
		want := Policy{3, time.Hour, time.Second, "delay", onSuccess}
		if diff := cmp.Diff(want, PolicyOf(jobType, task)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", jobType, diff)
		}
	}
	for a := range Action(4) {
		if want := []string{"finish", "fail", "killed", "restart"}[a]; fmt.Sprint(a) != want {
			t.Errorf("action %d is %q, want %q", uint8(a), a, want)
		}
	}
}
