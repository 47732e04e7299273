package play

import (
	"time"

	"taskrun/cmd/jobtest"
	"taskrun/engine/leaf/event"
	"taskrun/hooks/services/check"
)

// answer returns the answers to the probes of a virtual run. A block for a check
// takes precedence over one for its service. Of several blocks with one label, the
// latest whose time has come counts. Without a block the check passes.
func answer(blocks []*jobtest.Check) func(*event.Alloc, time.Duration, *check.Check) check.Result {
	return func(_ *event.Alloc, since time.Duration, c *check.Check) check.Result {
		for _, name := range []string{c.Name, c.Service} {
			if b := latest(blocks, name, since); b != nil {
				return check.Result{Status: b.Status, Output: b.Output}
			}
		}
		return check.Result{Status: check.Success, Output: "not probed"}
	}
}

// latest returns the block of a label that is in force; nil for none.
func latest(blocks []*jobtest.Check, label string, since time.Duration) (found *jobtest.Check) {
	for _, b := range blocks {
		if b.Name == label && b.After <= since && (found == nil || b.After >= found.After) {
			found = b
		}
	}
	return found
}
