package cmd

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/cmd/ui/answer"
	"taskrun/engine/update"
)

// rolloutOf returns the steps of an update to a new version of a job. The
// server says how the update affects each group, and where the job is now. The
// result is nil if nothing would change, and for system jobs of a cluster,
// whose nodes are unknown here.
func rolloutOf(ctx context.Context, s *client.Server, job *api.Job, plan *api.JobPlanResponse) ([]answer.RolloutStep, error) {
	if plan.Diff.Type == "None" || s.Socket == "" && strings.HasPrefix(*job.Type, "sys") {
		return nil, nil
	}
	allocs, _, err := s.Allocations(ctx, *job.ID, 0)
	if err != nil {
		return nil, err
	}
	deployment, _, err := s.Deployment(ctx, *job.ID, 0)
	if err != nil {
		return nil, err
	}
	places, newest := placesOf(allocs, deployment)
	next := *job
	next.Version = new(newest + 1)
	updates := plan.Annotations.DesiredTGUpdates
	steps := update.Steps(&next, places, func(group string, version uint64) update.Kind {
		u := updates[group]
		// Replacements after a creation are not counted: only the diff shows them.
		if u != nil && (u.DestructiveUpdate+u.Canary > 0 || replacesTasks(plan.Diff, group)) && (u.InPlaceUpdate == 0 || version < newest) {
			return update.Destructive
		}
		return update.InPlace
	})
	list := make([]answer.RolloutStep, len(steps))
	for i, s := range steps {
		list[i] = answer.RolloutStep{
			Group: s.Group, Create: s.Create, Canary: s.Canary, Promote: s.Promote, Replace: s.Replace, InPlace: s.InPlace, Destroy: s.Destroy,
		}
		switch g := job.LookupTaskGroup(s.Group); {
		case i == 0 || steps[i-1].Group != s.Group:
		case len(s.Promote) > 0 && !*g.Update.AutoPromote:
			list[i].After = answer.AfterPromotion
		default:
			list[i].After = answer.AfterHealthy
		}
	}
	return list, nil
}

// replacesTasks reports whether a difference says of a task of a group that it takes
// a new allocation.
func replacesTasks(d *api.JobDiff, group string) bool {
	return slices.ContainsFunc(d.TaskGroups, func(g *api.TaskGroupDiff) bool {
		return g.Name == group && slices.ContainsFunc(g.Tasks, func(t *api.TaskDiff) bool {
			return slices.Contains(t.Annotations, "forces create/destroy update")
		})
	})
}

// placesOf returns the places of a job's allocations that should run, and the
// newest version among them.
func placesOf(allocs []*api.AllocationListStub, d *api.Deployment) (places []update.Place, newest uint64) {
	type key struct {
		group  string
		index  int
		canary bool
	}
	latest := map[key]*api.AllocationListStub{}
	for _, a := range allocs {
		newest = max(newest, a.JobVersion)
		if a.DesiredStatus != api.AllocDesiredStatusRun {
			continue
		}
		canary := false
		if d != nil && d.TaskGroups[a.TaskGroup] != nil {
			g := d.TaskGroups[a.TaskGroup]
			canary = !g.Promoted && slices.Contains(g.PlacedCanaries, a.ID)
		}
		at := key{a.TaskGroup, client.IndexOf(a.Name), canary}
		if known := latest[at]; known == nil || known.CreateIndex < a.CreateIndex {
			latest[at] = a
		}
	}
	for at, a := range latest {
		p := update.Place{Group: at.group, Index: at.index, Canary: at.canary, Version: a.JobVersion, Alloc: a.ID}
		switch {
		case a.ClientStatus == api.AllocClientStatusPending || a.ClientStatus == api.AllocClientStatusRunning:
		case a.FollowupEvalID != "":
			p.State = update.Waiting
		default:
			p.State = update.Over
		}
		places = append(places, p)
	}
	return places, newest
}
