package screen

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// deploymentsPane shows the deployments of the job of the row with the cursor, the
// latest first.
type deploymentsPane struct {
	scroller
	history *history
	tree    *tree
	dialog  *dialog
}

var deploymentsBindings = []binding{
	{keys: "p", does: "promote", help: "promote the canaries of the latest deployment"},
	{keys: "F", does: "fail", help: "fail the latest deployment; the job may go back to an earlier version"},
}

func (p *deploymentsPane) lines(_, height int) []Line {
	var lines []Line
	for _, d := range slices.Backward(p.deployments()) {
		lines = append(lines, Line{
			Text(p.history.local(d.Changed).Format("15:04:05 "), Quiet),
			Text(fmt.Sprintf("version %d  ", d.Version), Plain),
			Text(d.Status, cmp.Or(deploymentStyles[d.Status], Quiet)),
		}, LineOf("  "+d.Description, Plain))
		if d.API == nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(d.API.TaskGroups)) {
			g := d.API.TaskGroups[name]
			text := fmt.Sprintf("  %s: %d of %d placed, %d healthy, %d unhealthy", name, g.PlacedAllocs, g.DesiredTotal, g.HealthyAllocs, g.UnhealthyAllocs)
			if g.DesiredCanaries > 0 {
				text += fmt.Sprintf(", %d of %d canaries", len(g.PlacedCanaries), g.DesiredCanaries)
			}
			lines = append(lines, LineOf(text, Quiet))
		}
	}
	if len(lines) == 0 {
		return []Line{LineOf("no deployments", Quiet)}
	}
	from, to := p.window(len(lines), height)
	return lines[from:to]
}

// deployments returns the deployments of the job of the row with the cursor, oldest
// first.
func (p *deploymentsPane) deployments() []*fold.Deployment {
	if r := p.tree.cursor(); r != nil {
		return p.history.run.DeploymentsOf(r.job)
	}
	return nil
}

// deploymentStyles are those of statuses; the others are quiet.
var deploymentStyles = map[string]Style{
	api.DeploymentStatusSuccessful: Good, api.DeploymentStatusFailed: Bad,
	api.DeploymentStatusRunning: Wait, api.DeploymentStatusPaused: Wait,
}

func (p *deploymentsPane) key(k Key) bool {
	switch k {
	case "p":
		if d := p.open(); d != nil && !d.Canarying {
			p.dialog.say("the deployment has no canaries that wait for their promotion")
		} else if d != nil {
			p.order(Promote, "promote the canaries of", d)
		}
	case "F":
		if d := p.open(); d != nil {
			p.order(FailRollout, "fail the deployment of", d)
		}
	default:
		return p.scroller.key(k)
	}
	return true
}

// open returns the latest deployment if it is active; otherwise it says that none
// is.
func (p *deploymentsPane) open() *fold.Deployment {
	all := p.deployments()
	if len(all) > 0 {
		if d := all[len(all)-1]; d.Status == api.DeploymentStatusRunning || d.Status == api.DeploymentStatusPaused {
			return d
		}
	}
	p.dialog.say("no deployment is going on")
	return nil
}

func (p *deploymentsPane) order(v Verb, does string, d *fold.Deployment) {
	r := p.tree.cursor()
	label := event.JobName(r.job)
	p.dialog.confirm(fmt.Sprintf("%s %s, version %d?", does, label, d.Version), func() {
		p.dialog.order(Order{Verb: v, Job: r.job, Label: label, Text: d.ID})
	})
}
