package validate

import (
	"fmt"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

// parameterized checks the block of a job that is launched by dispatch.
func (c *checker) parameterized() {
	p := c.job.ParameterizedJob
	if p == nil || c.job.Dispatched {
		return
	}
	at := jobspec.Root.Attr("parameterized")
	if !c.mayBe(api.JobTypeBatch, api.JobTypeSysbatch) {
		c.refuse(at, "parameterized is for batch jobs", fmt.Sprintf("the job's type is %q", c.kind), `write type = "batch" or "sysbatch"`)
	}
	c.choice(at.Attr("payload"), "payload requirement", p.Payload, "", "optional", "required", "forbidden")
	for _, key := range p.MetaOptional {
		if slices.Contains(p.MetaRequired, key) {
			c.refuse(at.Attr("meta_optional"), fmt.Sprintf("meta key %q is both required and optional", key), "",
				"list it in meta_required or in meta_optional")
		}
	}
}
