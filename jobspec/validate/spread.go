package validate

import (
	"fmt"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

func (c *checker) spreads(spreads []*api.Spread, at jobspec.Path) {
	if c.kind == api.JobTypeSystem {
		if spreads != nil {
			c.refuse(at.Index("spread", 0), "a system job has no spread", "it runs on every node", "remove the block")
		}
		return
	}
	for i, s := range spreads {
		c.spread(orEmpty(s), at.Index("spread", i))
	}
}

func (c *checker) spread(s *api.Spread, at jobspec.Path) {
	if s.Attribute == "" {
		c.refuse(at, "spread has no attribute", "", `add attribute = "${node.datacenter}" or the like`)
	}
	c.target(s.Attribute, at.Attr("attribute"))
	if w := deref(s.Weight); w <= 0 || w > 100 {
		c.refuse(at.Attr("weight"), "weight is out of range", fmt.Sprintf("it is %d", w), "write 1 to 100")
	}
	values := map[string]bool{}
	sum := 0
	for i, t := range s.SpreadTarget {
		t, at := orEmpty(t), at.Index("target", i)
		if values[t.Value] {
			c.refuse(at, fmt.Sprintf("target %q is defined twice", t.Value), "", "remove one of them")
		}
		values[t.Value] = true
		if t.Percent > 100 {
			c.refuse(at.Attr("percent"), "percent is out of range", fmt.Sprintf("it is %d", t.Percent), "write 0 to 100")
		}
		sum += int(t.Percent)
	}
	if sum > 100 {
		c.refuse(at, "targets exceed 100 percent", fmt.Sprintf("they add up to %d", sum), "lower them")
	}
}
