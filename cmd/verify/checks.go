package verify

import (
	"context"

	"taskrun/cmd/report/compare"
)

// checks adds the results of the checks of running allocations.
func (c *collector) checks(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	for id, a := range c.allocs {
		results, err := c.Server.API.Allocations().Checks(id, c.query(ctx))
		if err != nil {
			continue // it has ended
		}
		for _, r := range results {
			a.values[compare.Key{Kind: compare.Check, Name: r.Service + "/" + r.Check}] = r.Status
		}
	}
}
