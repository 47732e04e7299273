package validate

import (
	"math"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

func TestRestartRules(t *testing.T) {
	t.Parallel()
	restart := func(p api.RestartPolicy) func(*api.TaskGroup) {
		return func(g *api.TaskGroup) { g.RestartPolicy = &p }
	}
	checkFaults(t, []fault{
		{name: "fits exactly", group: restart(api.RestartPolicy{Attempts: new(5), Delay: new(time.Minute), Interval: new(5 * time.Minute)})},
		{name: "never", group: restart(api.RestartPolicy{Attempts: new(0)})},
		{name: "mode", group: restart(api.RestartPolicy{Mode: new("always")}), want: []string{"error job.group[0].restart.mode: unknown restart mode"}},
		{
			name: "no attempts, delay", group: restart(api.RestartPolicy{Attempts: new(0), Mode: new("delay")}),
			want: []string{`error job.group[0].restart.attempts: 0 attempts with mode "delay" is ambiguous`},
		},
		{name: "negative attempts", group: restart(api.RestartPolicy{Attempts: new(-1)}), want: []string{"warning job.group[0].restart.attempts: attempts is negative"}},
		{
			name: "short interval", group: restart(api.RestartPolicy{Attempts: new(1), Delay: new(time.Second), Interval: new(2 * time.Second)}),
			want: []string{"error job.group[0].restart.interval: restart interval is too short"},
		},
		{
			name: "does not fit", group: restart(api.RestartPolicy{Attempts: new(6), Delay: new(time.Minute), Interval: new(5 * time.Minute)}),
			want: []string{"error job.group[0].restart: restarts do not fit their interval"},
		},
		{
			name: "product overflows", group: restart(api.RestartPolicy{Attempts: new(math.MaxInt), Delay: new(time.Hour)}),
			want: []string{"error job.group[0].restart: restarts do not fit their interval"},
		},
		{
			name: "a task's own is Nomad's to misread", task: func(t *api.Task) { t.RestartPolicy = &api.RestartPolicy{Mode: new("always")} },
			want: []string{"warning job.group[0].task[0].restart.mode: unknown restart mode"},
		},
		{
			name: "a task that inherits", group: restart(api.RestartPolicy{Mode: new("always")}),
			task: func(t *api.Task) { t.RestartPolicy = &api.RestartPolicy{Attempts: new(2)} },
			want: []string{"error job.group[0].restart.mode: unknown restart mode"},
		},
	})
}

func TestRescheduleRules(t *testing.T) {
	t.Parallel()
	reschedule := func(p api.ReschedulePolicy) func(*api.TaskGroup) {
		return func(g *api.TaskGroup) { g.ReschedulePolicy = &p }
	}
	checkFaults(t, []fault{
		{name: "disabled", group: reschedule(api.ReschedulePolicy{Attempts: new(0), Unlimited: new(false), DelayFunction: new("linear")})},
		{
			name: "attempts and unlimited", group: reschedule(api.ReschedulePolicy{Attempts: new(2), Interval: new(time.Hour)}),
			want: []string{"error job.group[0].reschedule.attempts: attempts and unlimited exclude each other"},
		},
		{name: "short delay", group: reschedule(api.ReschedulePolicy{Delay: new(4 * time.Second)}), want: []string{"error job.group[0].reschedule.delay: reschedule delay is too short"}},
		{name: "function", group: reschedule(api.ReschedulePolicy{DelayFunction: new("linear")}), want: []string{"error job.group[0].reschedule.delay_function: unknown delay function"}},
		{name: "short max_delay", group: reschedule(api.ReschedulePolicy{MaxDelay: new(time.Second)}), want: []string{"error job.group[0].reschedule.max_delay: max_delay is too short"}},
		{name: "max_delay below delay", group: reschedule(api.ReschedulePolicy{MaxDelay: new(29 * time.Second)}), want: []string{"error job.group[0].reschedule.max_delay: max_delay is below delay"}},
		{name: "constant needs no max_delay", group: reschedule(api.ReschedulePolicy{DelayFunction: new("constant"), MaxDelay: new(time.Duration(0))})},
		{
			name: "short interval", group: reschedule(api.ReschedulePolicy{Attempts: new(1), Interval: new(14 * time.Second), Unlimited: new(false)}),
			want: []string{"error job.group[0].reschedule.interval: reschedule interval is too short"},
		},
		{
			name:  "does not fit",
			group: reschedule(api.ReschedulePolicy{Attempts: new(5), Interval: new(time.Minute), DelayFunction: new("constant"), Unlimited: new(false)}),
			want:  []string{"error job.group[0].reschedule.attempts: reschedule attempts do not fit their interval"},
		},
		{ // and nothing about the attempts, whose delays are not known
			name:  "function and attempts",
			group: reschedule(api.ReschedulePolicy{Attempts: new(5), Interval: new(time.Minute), DelayFunction: new("linear"), Unlimited: new(false)}),
			want:  []string{"error job.group[0].reschedule.delay_function: unknown delay function"},
		},
		{
			name:  "short delay and attempts",
			group: reschedule(api.ReschedulePolicy{Attempts: new(50), Interval: new(time.Minute), DelayFunction: new("constant"), Delay: new(4 * time.Second), Unlimited: new(false)}),
			want:  []string{"error job.group[0].reschedule.delay: reschedule delay is too short"},
		},
		{
			name:  "short max_delay and attempts",
			group: reschedule(api.ReschedulePolicy{Attempts: new(50), Interval: new(time.Minute), MaxDelay: new(4 * time.Second), Unlimited: new(false)}),
			want:  []string{"error job.group[0].reschedule.max_delay: max_delay is too short"},
		},
		{
			name:  "max_delay below delay and attempts",
			group: reschedule(api.ReschedulePolicy{Attempts: new(50), Interval: new(time.Minute), MaxDelay: new(29 * time.Second), Unlimited: new(false)}),
			want:  []string{"error job.group[0].reschedule.max_delay: max_delay is below delay"},
		},
		{
			name: "system", job: func(j *api.Job) { j.Type = new("system") }, group: reschedule(api.ReschedulePolicy{Unlimited: new(true)}),
			want: []string{"error job.group[0].reschedule: a system job does not reschedule"},
		},
		{
			name: "sysbatch, from the job", job: func(j *api.Job) { j.Type, j.Reschedule = new("sysbatch"), &api.ReschedulePolicy{} },
			want: []string{"error job.reschedule: a sysbatch job does not reschedule"},
		},
	})
}

func TestRescheduleSpan(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for _, c := range []struct {
		function       string
		attempts       int
		delay, ceiling time.Duration
		want           time.Duration
		fitsExactly    bool // the interval is exactly that span
	}{
		{"constant", 1, 5 * s, 0, 5 * s, true},
		{"constant", 5, 30 * s, 0, 150 * s, true},
		{"constant", math.MaxInt, time.Hour, 0, math.MaxInt64, true},
		{"exponential", 1, 5 * s, 60 * s, 5 * s, false},
		{"exponential", 4, 5 * s, 60 * s, 40 * s, false},             // 5 10 20 40
		{"exponential", 5, 5 * s, 60 * s, 100 * s, false},            // 5 10 20 40 40+60
		{"exponential", 7, 5 * s, 60 * s, 220 * s, false},            // … 160 220
		{"exponential", 3, 60 * s, 60 * s, 180 * s, false},           // 60 60+60 120+60
		{"exponential", 1_000_000_000, 5 * s, 5 * s, 5e9 * s, false}, // too many to count one by one
		{"exponential", 200, 5 * s, math.MaxInt64, math.MaxInt64, false},
		{"fibonacci", 1, 5 * s, 60 * s, 5 * s, true},
		{"fibonacci", 2, 5 * s, 60 * s, 5 * s, true},
		{"fibonacci", 6, 5 * s, 60 * s, 40 * s, true},  // 5 5 10 15 25 40
		{"fibonacci", 7, 5 * s, 60 * s, 60 * s, true},  // 65 exceeds the maximum
		{"fibonacci", 9, 5 * s, 60 * s, 180 * s, true}, // 60 120 180
		{"fibonacci", math.MaxInt, 5 * s, time.Hour, math.MaxInt64, true},
	} {
		p := &api.ReschedulePolicy{DelayFunction: &c.function, Attempts: &c.attempts, Delay: &c.delay, MaxDelay: &c.ceiling, Interval: &c.want}
		span, fits := rescheduleSpan(p)
		if span != c.want || fits != c.fitsExactly {
			t.Errorf("%s, %d attempts, delay %v, max_delay %v: got %v, fits %t; want %v, fits %t",
				c.function, c.attempts, c.delay, c.ceiling, span, fits, c.want, c.fitsExactly)
		}
		if c.want < math.MaxInt64 {
			p.Interval = new(c.want + 1)
			if _, fits := rescheduleSpan(p); !fits {
				t.Errorf("%s, %d attempts do not fit an interval above %v", c.function, c.attempts, c.want)
			}
			p.Interval = new(c.want - 1)
			if _, fits := rescheduleSpan(p); fits {
				t.Errorf("%s, %d attempts fit an interval below %v", c.function, c.attempts, c.want)
			}
		}
	}
}

func TestUpdateRules(t *testing.T) {
	t.Parallel()
	update := func(u api.UpdateStrategy) func(*api.TaskGroup) {
		return func(g *api.TaskGroup) { g.Update = &u }
	}
	checkFaults(t, []fault{
		{name: "valid", group: update(api.UpdateStrategy{Canary: new(1), AutoPromote: new(true), ProgressDeadline: new(time.Duration(0))})},
		{name: "health check", group: update(api.UpdateStrategy{HealthCheck: new("chekcs")}), want: []string{"error job.group[0].update.health_check: unknown health check"}},
		{name: "max_parallel", group: update(api.UpdateStrategy{MaxParallel: new(-1)}), want: []string{"error job.group[0].update.max_parallel: max_parallel is negative"}},
		{
			name: "max_parallel above count", group: func(g *api.TaskGroup) { g.Count = new(2); update(api.UpdateStrategy{MaxParallel: new(3)})(g) },
			want: []string{"warning job.group[0].update.max_parallel: max_parallel exceeds count"},
		},
		{name: "canary", group: update(api.UpdateStrategy{Canary: new(-1)}), want: []string{"error job.group[0].update.canary: canary is negative"}},
		{name: "auto_promote", group: update(api.UpdateStrategy{AutoPromote: new(true)}), want: []string{"error job.group[0].update.auto_promote: auto_promote needs canaries"}},
		{name: "stagger", group: update(api.UpdateStrategy{Stagger: new(time.Duration(0))}), want: []string{"error job.group[0].update.stagger: stagger is not positive"}},
		{name: "healthy_deadline", group: update(api.UpdateStrategy{HealthyDeadline: new(time.Duration(0))}), want: []string{"error job.group[0].update.healthy_deadline: healthy_deadline is not positive"}},
		{name: "min_healthy_time", group: update(api.UpdateStrategy{MinHealthyTime: new(-time.Second)}), want: []string{"error job.group[0].update.min_healthy_time: min_healthy_time is negative"}},
		{name: "progress_deadline", group: update(api.UpdateStrategy{ProgressDeadline: new(-time.Second)}), want: []string{"error job.group[0].update.progress_deadline: progress_deadline is negative"}},
		{
			name: "min_healthy_time too long", group: update(api.UpdateStrategy{MinHealthyTime: new(5 * time.Minute)}),
			want: []string{"error job.group[0].update.min_healthy_time: min_healthy_time does not fit healthy_deadline"},
		},
		{
			name: "healthy_deadline too short for the default", group: update(api.UpdateStrategy{HealthyDeadline: new(5 * time.Second)}),
			want: []string{"error job.group[0].update.healthy_deadline: min_healthy_time does not fit healthy_deadline"},
		},
		{
			name: "progress_deadline too short", group: update(api.UpdateStrategy{ProgressDeadline: new(5 * time.Minute)}),
			want: []string{"error job.group[0].update.progress_deadline: healthy_deadline does not fit progress_deadline"},
		},
		{
			name: "from the job", job: func(j *api.Job) { j.Update = &api.UpdateStrategy{ProgressDeadline: new(4 * time.Minute)} },
			want: []string{"error job.update.healthy_deadline: healthy_deadline does not fit progress_deadline"},
		},
		{
			name: "batch", job: func(j *api.Job) { j.Type = new("batch") }, group: update(api.UpdateStrategy{}),
			want: []string{"error job.group[0].update: update is for service and system jobs"},
		},
		{
			name: "batch, from the job", job: func(j *api.Job) { j.Type, j.Update = new("batch"), &api.UpdateStrategy{} },
			want: []string{"error job.update: update is for service and system jobs"},
		},
	})
}

func TestMigrateAndDisconnectRules(t *testing.T) {
	t.Parallel()
	migrate := func(m api.MigrateStrategy) func(*api.TaskGroup) {
		return func(g *api.TaskGroup) { g.Migrate = &m }
	}
	disconnect := func(d api.DisconnectStrategy) func(*api.TaskGroup) {
		return func(g *api.TaskGroup) { g.Disconnect = &d }
	}
	checkFaults(t, []fault{
		{name: "migrate equal times", group: migrate(api.MigrateStrategy{MinHealthyTime: new(5 * time.Minute)})},
		{name: "migrate max_parallel", group: migrate(api.MigrateStrategy{MaxParallel: new(-1)}), want: []string{"error job.group[0].migrate.max_parallel: max_parallel is negative"}},
		{name: "migrate manual", group: migrate(api.MigrateStrategy{HealthCheck: new("manual")}), want: []string{"error job.group[0].migrate.health_check: unknown health check"}},
		{name: "migrate min_healthy_time", group: migrate(api.MigrateStrategy{MinHealthyTime: new(-time.Second)}), want: []string{"error job.group[0].migrate.min_healthy_time: min_healthy_time is negative"}},
		{name: "migrate healthy_deadline", group: migrate(api.MigrateStrategy{HealthyDeadline: new(-time.Second)}), want: []string{"error job.group[0].migrate.healthy_deadline: healthy_deadline is negative"}},
		{name: "migrate times", group: migrate(api.MigrateStrategy{MinHealthyTime: new(time.Hour)}), want: []string{"error job.group[0].migrate.min_healthy_time: min_healthy_time does not fit healthy_deadline"}},
		{name: "migrate of a batch job", job: func(j *api.Job) { j.Type = new("batch") }, group: migrate(api.MigrateStrategy{}), want: []string{"error job.group[0].migrate: migrate is for service jobs"}},
		{name: "migrate of a batch job, from the job", job: func(j *api.Job) { j.Type, j.Migrate = new("batch"), &api.MigrateStrategy{} }, want: []string{"error job.migrate: migrate is for service jobs"}},

		{name: "disconnect", group: disconnect(api.DisconnectStrategy{LostAfter: new(time.Hour), Reconcile: new("longest_running")})},
		{name: "lost_after", group: disconnect(api.DisconnectStrategy{LostAfter: new(-time.Second)}), want: []string{"error job.group[0].disconnect.lost_after: lost_after is negative"}},
		{name: "stop_on_client_after", group: disconnect(api.DisconnectStrategy{StopOnClientAfter: new(-time.Second)}), want: []string{"error job.group[0].disconnect.stop_on_client_after: stop_on_client_after is negative"}},
		{
			name: "stop_on_client_after of a system job", job: func(j *api.Job) { j.Type = new("system") },
			group: disconnect(api.DisconnectStrategy{StopOnClientAfter: new(time.Hour)}),
			want:  []string{"error job.group[0].disconnect.stop_on_client_after: stop_on_client_after is for service and batch jobs"},
		},
		{
			name: "both", group: disconnect(api.DisconnectStrategy{LostAfter: new(time.Hour), StopOnClientAfter: new(time.Hour)}),
			want: []string{"error job.group[0].disconnect: lost_after and stop_on_client_after exclude each other"},
		},
		{name: "reconcile", group: disconnect(api.DisconnectStrategy{Reconcile: new("newest")}), want: []string{"error job.group[0].disconnect.reconcile: unknown reconcile strategy"}},
	})
}

func TestScalingRules(t *testing.T) {
	t.Parallel()
	scaling := func(s api.ScalingPolicy) func(*api.TaskGroup) {
		return func(g *api.TaskGroup) { g.Count, g.Scaling = new(3), &s }
	}
	checkFaults(t, []fault{
		{name: "valid", group: scaling(api.ScalingPolicy{Min: new(int64(3)), Max: new(int64(3))})},
		{name: "no max", group: scaling(api.ScalingPolicy{}), want: []string{"error job.group[0].scaling.max: scaling has no max"}},
		{name: "type", group: scaling(api.ScalingPolicy{Type: "vertical_cpu", Max: new(int64(3))}), want: []string{"error job.group[0].scaling.type: unknown scaling type of a group"}},
		{name: "min", group: scaling(api.ScalingPolicy{Min: new(int64(-1)), Max: new(int64(3))}), want: []string{"error job.group[0].scaling.min: min is negative"}},
		{name: "max below min", group: scaling(api.ScalingPolicy{Min: new(int64(5)), Max: new(int64(4))}), want: []string{"error job.group[0].scaling.max: max is below min"}},
		{name: "count above max", group: scaling(api.ScalingPolicy{Min: new(int64(1)), Max: new(int64(2))}), want: []string{"error job.group[0].scaling.max: count is above max"}},
		{name: "count below min", group: scaling(api.ScalingPolicy{Min: new(int64(4)), Max: new(int64(9))}), want: []string{"error job.group[0].scaling.min: count is below min"}},
		{
			name: "system", job: func(j *api.Job) { j.Type = new("system") },
			group: func(g *api.TaskGroup) { g.Scaling = &api.ScalingPolicy{Max: new(int64(3))} },
			want:  []string{"error job.group[0].scaling: a system job does not scale"},
		},
	})
}
