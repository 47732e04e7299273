package validate

import (
	"fmt"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

// parameterized checks the block of a job that is launched by dispatch.
func (w *whole) parameterized() {
	p := w.job.ParameterizedJob
	if p == nil || w.job.Dispatched {
		return
	}
	at := jobspec.Root.Attr("parameterized")
	if !w.mayBe(api.JobTypeBatch, api.JobTypeSysbatch) {
		w.refuse(at, "parameterized is for batch jobs", fmt.Sprintf("the job's type is %q", w.kind), `write type = "batch" or "sysbatch"`)
	}
	w.choice(at.Attr("payload"), "payload requirement", p.Payload, "", "optional", "required", "forbidden")
	for _, key := range p.MetaOptional {
		if slices.Contains(p.MetaRequired, key) {
			w.refuse(at.Attr("meta_optional"), fmt.Sprintf("meta key %q is both required and optional", key), "",
				"list it in meta_required or in meta_optional")
		}
	}
}
