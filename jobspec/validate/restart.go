package validate

import (
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

const minRestartInterval = 5 * time.Second

func (g *group) groupRestart() {
	if g.tg.RestartPolicy != nil {
		g.restart(g.tg.RestartPolicy, g.at.Attr("restart"), g.refuse)
	}
}

// taskRestart checks a policy of a task's own. Nomad does not look at those
// before it acts by them, so their faults are warnings.
func (t *task) taskRestart() {
	own, inherited := t.t.RestartPolicy, t.g.tg.RestartPolicy
	if own != nil && !sameRestart(own, inherited) {
		t.restart(own, t.at.Attr("restart"), t.warn)
	}
}

func (c *checker) restart(p *api.RestartPolicy, at jobspec.Path, report func(at jobspec.Path, summary, detail, remedy string)) {
	mode, attempts := deref(p.Mode), deref(p.Attempts)
	interval, delay := deref(p.Interval), deref(p.Delay)
	modes := []string{api.RestartPolicyModeFail, api.RestartPolicyModeDelay}
	switch mode {
	case api.RestartPolicyModeFail:
	case api.RestartPolicyModeDelay:
		if attempts == 0 {
			report(at.Attr("attempts"), `0 attempts with mode "delay" is ambiguous`, "", `write mode = "fail" to never restart, or 1 or more attempts`)
		}
	default:
		report(at.Attr("mode"), "unknown restart mode", fmt.Sprintf("%q", mode), orElse(didYouMean(mode, modes), "write one of fail, delay"))
	}
	if attempts < 0 {
		c.warn(at.Attr("attempts"), "attempts is negative", fmt.Sprintf("it is %d", attempts), "Nomad takes it for 0; write 0 or more")
	}
	if interval < minRestartInterval {
		report(at.Attr("interval"), "restart interval is too short", fmt.Sprintf("it is %s", plain(interval)), fmt.Sprintf("write %s or more", plain(minRestartInterval)))
	}
	// Division instead of multiplication: the product may overflow.
	if delay > 0 && attempts > 0 && time.Duration(attempts) > interval/delay {
		report(at, "restarts do not fit their interval",
			fmt.Sprintf("%d attempts, %s apart, take longer than %s", attempts, plain(delay), plain(interval)),
			"raise interval, or lower attempts or delay")
	}
}

func sameRestart(a, b *api.RestartPolicy) bool {
	return a == b || b != nil && same(a.Mode, b.Mode) && same(a.Attempts, b.Attempts) &&
		same(a.Interval, b.Interval) && same(a.Delay, b.Delay)
}
