package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/drivers/rehearsal"
	"taskrun/engine"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/chance"
	"taskrun/engine/leaf/event"
	hookcatalog "taskrun/hooks/catalog"
	"taskrun/jobspec/taskenv"
)

// played is a run with a seed.
type played struct {
	lines   []string // events in canonical order, and the input of each start of a task
	ids     []string // of allocations
	delays  []time.Duration
	folded  []string // state after the events, in canonical order
	arrived []string // state after the events, as they arrived
}

// at does something after a while, once all else of that moment has happened.
func at(after time.Duration, do func()) (cancel func()) {
	canceled := make(chan struct{})
	go func() {
		select {
		case <-time.After(after):
			synctest.Wait()
			do()
		case <-canceled:
		}
	}()
	return func() { close(canceled) }
}

// repeatable plays a scenario with a seed, in virtual time.
func (s scenario) repeatable(t *testing.T, seed uint64) (p played) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		job := s.job()
		job.Canonicalize()
		var mu sync.Mutex
		var starts []string
		e := engine.New(engine.Config{
			DataDir: t.TempDir(), LogicalPorts: true, Chance: chance.Seeded(seed), MaxKillTimeout: 24 * time.Hour,
			Drivers: map[string]drivers.Driver{"mock_driver": rehearsal.New(rehearsal.RoleOf(mock.New()), func(cfg *drivers.TaskConfig) rehearsal.Script {
				mu.Lock()
				defer mu.Unlock()
				starts = append(starts, fmt.Sprintf("%s %s %s ports %v %v", cfg.AllocID, cfg.ID, cfg.Env["NOMAD_ALLOC_NAME"], cfg.Ports, cfg.TaskPorts))
				return rehearsal.Script{Lag: rehearsal.LagOf(cfg, job)}
			})},
			Hooks: hookcatalog.New(hookcatalog.Options{Unprobed: true, Offline: true}), Node: &taskenv.Node{},
		})
		sub := e.Subscribe(false)
		if err := e.Submit(job); err != nil {
			t.Fatal(err)
		}
		for after, do := range s.actions {
			defer at(after, func() { do(e) })()
		}
		if s.lasts > 0 {
			defer at(s.lasts, e.Stop)()
		}
		<-e.Done()
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
		var events []event.Event
		for ev, ok := sub.Next(context.Background()); ok; ev, ok = sub.Next(context.Background()) {
			events = append(events, ev)
		}
		jobs := []*api.Job{job}
		sorted := event.Canonical(events)
		p.folded, p.arrived = describeFold(fold.New(jobs, sorted...)), describeFold(fold.New(jobs, events...))
		for _, ev := range sorted {
			if event.Kind(ev.Body) == "" {
				continue
			}
			line, err := json.Marshal(ev)
			if err != nil {
				t.Fatal(err)
			}
			p.lines = append(p.lines, string(line))
			if b, ok := ev.Body.(event.TaskEvent); ok && b.Type == api.TaskRestarting {
				delay, _ := strconv.ParseInt(b.Details["start_delay"], 10, 64)
				p.delays = append(p.delays, time.Duration(delay))
			}
			if b, ok := ev.Body.(event.AllocStatus); ok && b.Status == "pending" {
				p.ids = append(p.ids, ev.Alloc.ID)
			}
		}
		p.lines = append(p.lines, slices.Sorted(slices.Values(starts))...)
	})
	return p
}

// describeFold returns what is known of a run but for the order of things.
func describeFold(run *fold.Run) (lines []string) {
	for _, a := range run.Allocs {
		line := fmt.Sprint(a.ID, " ", a.Name, " ", a.Status, " ", a.Description, " ", a.Retry, " ", a.Evaluation)
		if a.Replaces != nil {
			line += " replaces " + a.Replaces.ID
		}
		if a.Replacement != nil {
			line += " replaced by " + a.Replacement.ID
		}
		if a.Healthy != nil {
			line += fmt.Sprint(" healthy ", *a.Healthy)
		}
		if a.Failure != nil {
			line += fmt.Sprint(" failed by ", a.Failure.Task.Name, a.Failure.Time)
		}
		for _, t := range a.Tasks {
			line += fmt.Sprintln(" ", t.Name, t.State, t.Failed, t.Restarts, t.Started, t.Finished, t.Stopped())
			for _, e := range t.Events {
				line += fmt.Sprintln("    ", e.Type, e.DisplayMessage)
			}
		}
		lines = append(lines, line)
	}
	for _, d := range run.Deployments {
		lines = append(lines, fmt.Sprint(d.ID, " ", d.Status, " ", d.Description, " ", d.Changed))
	}
	for _, v := range run.Evaluations {
		lines = append(lines, fmt.Sprint(v.Evaluation))
	}
	slices.Sort(lines)
	return lines
}

// Runs with the same seed are equal: the same events with the same IDs at the same
// times, and the same ports. Events whose order is not determined lead to the same
// state in any order.
func TestARunWithASeedRepeats(t *testing.T) {
	t.Parallel()
	for name, s := range repeated() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := s.repeatable(t, 1)
			if len(first.ids) == 0 {
				t.Fatal("nothing has happened")
			}
			for range 5 {
				again := s.repeatable(t, 1)
				if diff := cmp.Diff(first.lines, again.lines); diff != "" {
					t.Fatal("the same seed (-first +again):\n", diff)
				}
				if diff := cmp.Diff(again.arrived, again.folded); diff != "" {
					t.Fatal("the canonical order makes another state:\n", diff)
				}
			}
			other := s.repeatable(t, 2)
			for _, id := range first.ids {
				if slices.Contains(other.ids, id) {
					t.Errorf("another seed gives %s, too", id)
				}
			}
		})
	}
}

// The jitter of a seed is in Nomad's range: up to a quarter of the delay.
func TestTheJitterOfASeed(t *testing.T) {
	t.Parallel()
	seen := map[time.Duration]bool{}
	for seed := range uint64(3) {
		for _, d := range repeated()["all at once"].repeatable(t, seed).delays {
			if d < 15*time.Second || d > 15*time.Second+15*time.Second/4 {
				t.Errorf("a delay of 15s became %v", d)
			}
			seen[d] = true
		}
	}
	if len(seen) < 20 {
		t.Errorf("there are %d different delays", len(seen))
	}
}

// No two allocations that run beside each other have one port: not those of two
// indexes, and not a canary, of which indexes 0 to 2 have one, and the allocation
// that it may replace.
func TestThePortsOfASeed(t *testing.T) {
	t.Parallel()
	owners := map[string]string{}
	for _, line := range repeated()["many ports"].repeatable(t, 1).lines {
		start, ports, ok := strings.Cut(line, " ports ")
		if !ok {
			continue
		}
		id, _, _ := strings.Cut(start, " ")
		if name := start[strings.LastIndexByte(start, ' ')+1:]; name > "job.g[2]" {
			id = name
		}
		for _, port := range strings.FieldsFunc(ports, func(r rune) bool { return r < '0' || r > '9' }) {
			if n, err := strconv.Atoi(port); err != nil || n < 2000 || n == 8080 {
				continue
			}
			if owners[port] != "" && owners[port] != id {
				t.Errorf("port %s: %s and %s", port, owners[port], id)
			}
			owners[port] = id
		}
	}
	if len(owners) < 20 {
		t.Errorf("there are %d ports", len(owners))
	}
}

// repeated are the scenarios, and others in which much happens at one moment.
func repeated() map[string]scenario {
	all := maps.Clone(scenarios)
	all["all at once"] = scenario{job: func() *api.Job {
		job := newJob("service",
			restarts(newTask("a", "run_for", "10s", "exit_code", 1), 3, 15*time.Second), newTask("b", "run_for", "30s"),
			newTask("c", "run_for", "30s", "exit_code", 2), hook(newTask("d"), "poststop", false))
		job.TaskGroups[0].Count = new(5)
		job.TaskGroups[0].ReschedulePolicy = &api.ReschedulePolicy{
			Attempts: new(2), Interval: new(24 * time.Hour), Delay: new(time.Minute), DelayFunction: new("constant"), Unlimited: new(false),
		}
		return withNetwork(job, &api.NetworkResource{DynamicPorts: []api.Port{{Label: "http"}, {Label: "admin", To: 80}}})
	}}
	all["many ports"] = scenario{lasts: time.Hour, job: func() *api.Job {
		job := service(8, "a")
		return withNetwork(job, &api.NetworkResource{Mode: "bridge", DynamicPorts: []api.Port{{Label: "http", To: 8080}, {Label: "admin"}}})
	}, actions: map[time.Duration]func(*engine.Engine){
		time.Minute: update(withNetwork(altered(service(10, "b"), func(_ *api.Job, u *api.UpdateStrategy) {
			u.Canary, u.AutoPromote, u.MaxParallel = new(3), new(true), new(3)
		}), &api.NetworkResource{DynamicPorts: []api.Port{{Label: "another"}, {Label: "http", To: 8080}}})),
	}}
	return all
}
