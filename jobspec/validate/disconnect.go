package validate

import (
	"fmt"

	"github.com/hashicorp/nomad/api"
)

func (g *group) disconnect() {
	d := g.tg.Disconnect
	if d == nil {
		return
	}
	at := g.at.Attr("disconnect")
	g.notNegative(at.Attr("lost_after"), "lost_after", d.LostAfter)
	g.notNegative(at.Attr("stop_on_client_after"), "stop_on_client_after", d.StopOnClientAfter)
	if d.StopOnClientAfter != nil {
		if !g.mayBe(api.JobTypeService, api.JobTypeBatch) {
			g.refuse(at.Attr("stop_on_client_after"), "stop_on_client_after is for service and batch jobs", fmt.Sprintf("the job's type is %q", g.kind), "remove it")
		}
		if deref(d.LostAfter) != 0 {
			g.refuse(at, "lost_after and stop_on_client_after exclude each other", "", "keep one of them")
		}
	}
	g.choice(at.Attr("reconcile"), "reconcile strategy", deref(d.Reconcile), "",
		api.ReconcileOptionKeepOriginal, api.ReconcileOptionKeepReplacement, api.ReconcileOptionBestScore, api.ReconcileOptionLongestRunning)
}
