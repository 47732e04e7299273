package main

import "time"

// firstAct measures the time from the start of a runner to the single action of
// its only task, and from there to the end of the runner.
func firstAct(o options, dir string, runners []runner) ([]measure, error) {
	before, after := samples{}, samples{}
	err := inTurns(o.runs+warmUps, runners, func(turn int, r runner) error {
		act, end, err := oneAct(dir, r)
		if turn < warmUps || err != nil {
			return err
		}
		before.add(r, act.Seconds())
		if r.agent == nil { // otherwise the agent ends the task
			after.add(r, end.Seconds())
		}
		return nil
	})
	return []measure{
		{
			what: "up to the task's first act", format: milliseconds, values: before.medians(),
			budgets: []budget{{"hivemind", 2}},
		},
		{
			what: "the last task's end to exit", format: milliseconds, values: after.medians(),
			budgets: []budget{{"", 0.005}},
		},
	}, err
}

func oneAct(dir string, r runner) (act, end time.Duration, err error) {
	bell, err := newBell(dir)
	if err != nil {
		return 0, 0, err
	}
	defer bell.close()
	cmd, start, err := r.start(bell.dir, nil, bell.ring())
	if err != nil {
		return 0, 0, err
	}
	at, err := bell.wait(1)
	if err != nil {
		stop(cmd)
		return 0, 0, err
	}
	err = finished(cmd)
	return at.Sub(start), time.Since(at), err
}
