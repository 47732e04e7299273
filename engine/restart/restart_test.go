package restart

import (
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	fail := Policy{Attempts: 2, Interval: time.Minute, Delay: 10 * time.Second, Mode: "fail"}
	service := fail
	service.OnSuccess = true
	delay := fail
	delay.Mode = "delay"
	never := Policy{Attempts: 0, Interval: time.Minute, Delay: time.Second, Mode: "fail"}

	for name, tt := range map[string]struct {
		policy Policy
		count  int
		end    End
		after  time.Duration // since the start of the interval
		chance float64
		want   Decision
		left   int // count afterwards
	}{
		"killed wins over all":        {never, 0, End{Killed: true, Requested: true, StartError: true}, 0, 0, Decision{Action: Killed}, 0},
		"a request is not counted":    {never, 1, End{Requested: true}, 0, 0.9, Decision{Action: Restart}, 1},
		"no attempts, failure":        {never, 0, End{}, 0, 0, Decision{Fail, 0, "Policy allows no restarts", false}, 0},
		"no attempts, success":        {never, 0, End{Successful: true}, 0, 0, Decision{Action: Finish}, 0},
		"no attempts, fatal start":    {never, 0, End{StartError: true}, 0, 0, Decision{Fail, 0, "Policy allows no restarts", false}, 0},
		"fatal start":                 {fail, 0, End{StartError: true}, 0, 0, Decision{Fail, 0, "Error was unrecoverable", false}, 1},
		"recoverable start":           {fail, 0, End{StartError: true, Recoverable: true}, 0, 0, Decision{Restart, 10 * time.Second, "Restart within policy", true}, 1},
		"batch success":               {fail, 2, End{Successful: true}, 0, 0, Decision{Action: Finish}, 3},
		"service success is failure":  {service, 0, End{Successful: true}, 0, 0, Decision{Restart, 10 * time.Second, "Restart within policy", true}, 1},
		"jitter adds up to a quarter": {fail, 0, End{}, 0, 0.5, Decision{Restart, 11250 * time.Millisecond, "Restart within policy", true}, 1},
		"last attempt":                {fail, 1, End{}, 0, 0, Decision{Restart, 10 * time.Second, "Restart within policy", true}, 2},
		"too many, mode fail":         {fail, 2, End{}, 0, 0, Decision{Fail, 0, `Exceeded allowed attempts 2 in interval 1m0s and mode is "fail"`, false}, 3},
		"too many, mode delay":        {delay, 2, End{}, 20 * time.Second, 0.9, Decision{Restart, 40 * time.Second, "Exceeded allowed attempts, applying a delay", false}, 3},
		"at the interval's very end":  {delay, 2, End{}, time.Minute, 0, Decision{Restart, 0, "Exceeded allowed attempts, applying a delay", false}, 3},
		"a new interval":              {fail, 2, End{}, time.Minute + 1, 0, Decision{Restart, 10 * time.Second, "Restart within policy", true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next, got := Tracker{Count: tt.count, Start: start}.Decide(tt.policy, tt.end, start.Add(tt.after), tt.chance)
			if got != tt.want {
				t.Errorf("Decide = %+v, want %+v", got, tt.want)
			}
			if next.Count != tt.left {
				t.Errorf("count afterwards = %d, want %d", next.Count, tt.left)
			}
		})
	}
}

func TestAttemptsCountRestarts(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := Policy{Attempts: 3, Interval: time.Hour, Delay: time.Second, Mode: "fail"}
	tr, runs := Tracker{Start: now}, 0
	for {
		runs++
		var d Decision
		tr, d = tr.Decide(p, End{}, now, 0.99)
		if d.Action != Restart {
			break
		}
		if d.Delay < p.Delay || d.Delay >= p.Delay*5/4 {
			t.Fatalf("delay %v is outside [%v, %v)", d.Delay, p.Delay, p.Delay*5/4)
		}
		now = now.Add(d.Delay)
	}
	if runs != 4 {
		t.Errorf("ran %d times, want 4", runs)
	}
}

func TestOnSuccess(t *testing.T) {
	t.Parallel()
	hook := func(h string, sidecar bool) *api.TaskLifecycle { return &api.TaskLifecycle{Hook: h, Sidecar: sidecar} }
	for _, tt := range []struct {
		jobType   string
		lifecycle *api.TaskLifecycle
		want      bool
	}{
		{"service", nil, true},
		{"system", nil, true},
		{"batch", nil, false},
		{"sysbatch", nil, false},
		{"service", hook("prestart", false), false},
		{"batch", hook("prestart", true), true},
		{"service", hook("poststart", false), false},
		{"batch", hook("poststart", true), true},
		{"service", hook("poststop", true), false},
	} {
		if got := OnSuccess(tt.jobType, tt.lifecycle); got != tt.want {
			t.Errorf("OnSuccess(%s, %+v) = %v, want %v", tt.jobType, tt.lifecycle, got, tt.want)
		}
	}
}

func TestRescheduleDelays(t *testing.T) {
	t.Parallel()
	second := time.Second
	for name, tt := range map[string]struct {
		policy ReschedulePolicy
		want   []time.Duration // after consecutive failures, each right after its start
	}{
		"none": {ReschedulePolicy{}, nil},
		"constant, limited": {
			ReschedulePolicy{Attempts: 3, Interval: time.Hour, Delay: 5 * second, Function: "constant"},
			[]time.Duration{5 * second, 5 * second, 5 * second},
		},
		"exponential up to the maximum": {
			ReschedulePolicy{Unlimited: true, Delay: 5 * second, Function: "exponential", MaxDelay: 30 * second},
			[]time.Duration{5 * second, 10 * second, 20 * second, 30 * second, 30 * second, 30 * second, 30 * second},
		},
		"fibonacci up to the maximum": {
			ReschedulePolicy{Unlimited: true, Delay: 5 * second, Function: "fibonacci", MaxDelay: 30 * second},
			[]time.Duration{5 * second, 5 * second, 10 * second, 15 * second, 25 * second, 30 * second, 30 * second},
		},
		"a delay that does not fit the interval": {
			ReschedulePolicy{Attempts: 5, Interval: 15 * second, Delay: 5 * second, Function: "exponential", MaxDelay: time.Hour},
			[]time.Duration{5 * second, 10 * second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			var earlier []Replacement
			for i, want := range tt.want {
				got, ok := tt.policy.Next(now, earlier)
				if !ok || got != want {
					t.Fatalf("failure %d: Next = %v %v, want %v true", i+1, got, ok, want)
				}
				now = now.Add(got)
				earlier = tt.policy.Keep(earlier, Replacement{Time: now, Delay: got})
				if len(earlier) > 6 {
					t.Fatalf("remembers %d replacements", len(earlier))
				}
			}
			if _, ok := tt.policy.Next(now, earlier); ok != tt.policy.Unlimited {
				t.Errorf("one more failure: replaced = %v, want %v", ok, tt.policy.Unlimited)
			}
		})
	}
}

func TestRescheduleRestartsAfterAQuietTime(t *testing.T) {
	t.Parallel()
	p := ReschedulePolicy{Unlimited: true, Delay: 5 * time.Second, Function: "exponential", MaxDelay: 30 * time.Second}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	earlier := []Replacement{{Time: now, Delay: 20 * time.Second}}
	if got, _ := p.Next(now.Add(31*time.Second), earlier); got != 5*time.Second {
		t.Errorf("after a quiet time the delay is %v, want 5s", got)
	}
	if got, _ := p.Next(now.Add(29*time.Second), earlier); got != 30*time.Second {
		t.Errorf("right after the last failure the delay is %v, want 30s", got)
	}
}
