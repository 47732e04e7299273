package play

import (
	"context"
	"math"
	"time"

	hooks "taskrun/hooks/catalog"
	hookstubs "taskrun/hooks/stubs"

	"taskrun/cmd/bubble"
	"taskrun/cmd/jobtest"
	"taskrun/engine"
	"taskrun/engine/leaf/chance"
	"taskrun/engine/leaf/service"
	"taskrun/engine/leaf/variable"
	"taskrun/engine/leaf/workload"
	"taskrun/jobspec"
)

// stopTime is how long tasks of a virtual run may take to end once the run has
// reached its goal.
const stopTime = 24 * time.Hour

// playVirtual carries out a run in virtual time.
func (p *Player) playVirtual(ctx context.Context, job *Prepared, seed uint64, dir string) (*jobtest.Outcome, error) {
	w, source := newWitness(), chance.Seeded(seed)
	services, variables := &service.Catalog{}, &variable.Store{}
	r := &round{job: job, witness: w, settle: bubble.Settle, limit: job.limit(VirtualTime), maxEvents: p.MaxEvents}
	still := *job.stubs
	still.File = "" // which would be looked at again and again
	stubs := hookstubs.New(&still, variables, func(jobspec.Diagnostics) {})
	defer stubs.Close()
	catalog := hooks.New(hooks.Options{
		DataDir: dir, HostVolume: still.HostVolume, Stubs: stubs, Services: services, Keys: workload.NewSeeded(source),
		Answer: answer(job.Run.Checks), Offline: true,
	})
	catalog.Task = append(catalog.Task, w.Task)
	node := *job.node
	node.DataDir = dir
	r.engine = engine.New(engine.Config{
		DataDir: dir, Drivers: newCast(job, p.known, w.alloc).drivers, Hooks: catalog, Node: &node, HostEnv: p.Environ,
		Services: services, Variables: variables, LogicalPorts: true, Chance: source, NoHistory: true, MaxKillTimeout: math.MaxInt64,
	})
	return r.play(ctx, seed, stopTime, nil)
}
