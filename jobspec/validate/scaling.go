package validate

import (
	"fmt"

	"github.com/hashicorp/nomad/api"
)

// scaling checks the bounds of a group's count. What task scaling blocks hold is
// the autoscaler's.
func (g *group) scaling() {
	s := g.tg.Scaling
	if s == nil {
		return
	}
	at, count := g.at.Attr("scaling"), int64(deref(g.tg.Count))
	if g.kind == api.JobTypeSystem {
		g.refuse(at, "a system job does not scale", "it runs once on every node", "remove the block")
	}
	if s.Type != "" {
		g.choice(at.Attr("type"), "scaling type of a group", s.Type, api.ScalingPolicyTypeHorizontal)
	}
	least := deref(s.Min)
	if least < 0 {
		g.refuse(at.Attr("min"), "min is negative", fmt.Sprintf("it is %d", least), "write 0 or more")
	}
	switch {
	case s.Max == nil || *s.Max < 0:
		g.refuse(at.Attr("max"), "scaling has no max", "", "add max = …, 0 or more")
	case *s.Max < least:
		g.refuse(at.Attr("max"), "max is below min", fmt.Sprintf("max is %d and min is %d", *s.Max, least), "raise max or lower min")
	case count > *s.Max:
		g.refuse(at.Attr("max"), "count is above max", fmt.Sprintf("count is %d and max is %d", count, *s.Max), "raise max or lower count")
	case count >= 0 && count < least:
		g.refuse(at.Attr("min"), "count is below min", fmt.Sprintf("count is %d and min is %d", count, least), "lower min or raise count")
	}
}
