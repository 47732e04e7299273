package verify

import (
	"context"

	"taskrun/cmd/report/compare"
)

// checks adds the results of the checks of running allocations.
func (c *collector) checks(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.order {
		results, err := c.Server.API.Allocations().Checks(a.id, c.query(ctx))
		if err != nil {
			continue // it has ended
		}
		for _, r := range results {
			a.values[compare.Key{Kind: compare.Check, Name: r.Service + "/" + r.Check}] = r.Status
		}
	}
}
