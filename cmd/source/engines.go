package source

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
)

// followEngines alerts until the run has ended, even if one engine replaces
// another. If the run was killed, it returns client.ErrGone.
func (d *Directory) followEngines(ctx context.Context) error {
	for {
		if d.followEngine(ctx) {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		back := comesBack(ctx, d.Server.Socket)
		ended, err := d.Ended()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case ended || err != nil:
			return err
		case !back:
			return client.ErrGone
		}
		d.outputs.hold() // the dead engine may not have announced all output
		d.alert()
	}
}

// endTime is the interval of asking the engine whether the jobs of Only have
// ended. The end of a job without tasks changes nothing that a query could wait
// for.
const endTime = time.Second

// followEngine alerts as long as the engine answers, and reports whether the jobs of
// Only have ended while others continue.
func (d *Directory) followEngine(ctx context.Context) (ended bool) {
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	often := time.Duration(0)
	if d.Only != nil {
		often = endTime
	}
	if d.Detail == All || d.Detail == Outputs {
		following.Go(func() { d.followOutputs(ctx) })
	}
	following.Go(func() {
		defer cancel()
		if d.Detail != Outputs {
			d.Server.FollowChanges(ctx, d.alert)
			return
		}
		d.Server.FollowTasks(ctx, d.Alloc, func(tasks []*client.Task) {
			for _, t := range tasks {
				if t.Started() {
					d.openWanted(t, t.EventAlloc())
				}
			}
			d.alert()
		})
	})
	d.Server.FollowJobs(ctx, often, func(jobs []*api.JobListStub) {
		d.alert()
		if d.onlyEnded(jobs) {
			ended = true
			cancel()
		}
	})
	return ended
}

// onlyEnded reports whether the jobs of Only have ended while others continue.
func (d *Directory) onlyEnded(jobs []*api.JobListStub) bool {
	others := false
	for _, j := range jobs {
		switch only := slices.Contains(d.Only, d.Server.Key(j.Namespace, j.ID)); {
		case only && j.Status != "dead":
			return false
		case !only && j.Status != "dead":
			others = true
		}
	}
	return d.Only != nil && (others || d.Self.Agent)
}

// askTime is the pause before an engine that does not announce outputs is asked
// again to do so.
const askTime = time.Second

// followOutputs reads outputs whenever the engine says that they have grown, until ctx
// ends. Without an answer it asks again after a while; until then it reads all of them.
func (d *Directory) followOutputs(ctx context.Context) {
	for ctx.Err() == nil {
		d.Server.FollowOutputs(ctx, d.Alloc, func() { d.tells(true) }, d.grown)
		d.tells(false)
		select {
		case <-time.After(askTime):
		case <-ctx.Done():
		}
	}
}

// tells says whether the engine announces which outputs grow.
func (d *Directory) tells(told bool) {
	d.outputs.tells(told)
	d.alert()
}
