package engine

import (
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/datadir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/store"
)

// A job can be queried, and stopped, while the state left by an earlier engine
// is not known yet. The race detector checks this.
func TestQueriesDuringRestore(t *testing.T) {
	t.Parallel()
	e := New(Config{})
	var before store.Change
	before.Put(store.KeyOf(stoppedKey, "job"), true)
	recorder, err := store.Create(&e.bus, t.TempDir(), before)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = recorder.Close() }()
	r := newJobRun(e.host, &e.runs, &api.Job{ID: new("job")}, nil, nil, recorder)
	e.runs.add(r)
	var both sync.WaitGroup
	both.Go(recovery{r}.readOrder)
	both.Go(func() { e.Handle("job").Ending() })
	both.Wait()
	if stopped, _ := e.Handle("job").Ending(); !stopped {
		t.Error("the order to stop is lost")
	}
}

// damaged returns a run of the job "job" whose state has a record, and a function
// that returns later messages.
func damaged(t *testing.T, record store.Change) (*Engine, *store.Recorder, func() []string) {
	t.Helper()
	e := New(Config{})
	recorder, err := store.Create(&e.bus, t.TempDir(), record)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = recorder.Close() })
	sub := e.SubscribeTo(func(ev event.Event) bool { _, ok := ev.Body.(event.Notice); return ok })
	t.Cleanup(sub.Close)
	return e, recorder, func() (notices []string) {
		const end = "end"
		e.notice(end)
		for {
			switch ev, ok := sub.Next(t.Context()); {
			case !ok:
				t.Fatal("nothing was told")
			case ev.Body.(event.Notice).Text == end:
				return notices
			default:
				notices = append(notices, ev.Body.(event.Notice).Text)
			}
		}
	}
}

// A record that cannot be read is told, and costs nothing else.
func TestDamagedRecordsOfAJob(t *testing.T) {
	t.Parallel()
	orders, versions, slots := recovery.readOrder, recovery.readVersions, recovery.readSlots
	for name, tt := range map[string]struct {
		key   store.Key
		value any
		read  func(recovery)
		want  string // begin of the notice
	}{
		"an order":                       {store.KeyOf(stoppedKey, "job"), "odd", orders, `job "job": `},
		"a version":                      {store.KeyOf(versionKey, "job", "3"), "odd", versions, `job "job": `},
		"scaling events":                 {store.KeyOf(scalingKey, "job"), "odd", versions, `job "job": `},
		"a deployment":                   {store.KeyOf(deploymentKey, "job", "id"), "odd", versions, `job "job": `},
		"a deployment of nothing":        {store.KeyOf(deploymentKey, "job", "id"), map[string]any{"id": "x"}, versions, `job "job": `},
		"a slot":                         {store.KeyOf(slotKey, "job", "g", "0"), "odd", slots, `cannot restore record ["slot" "job" "g" "0" "0"]: `},
		"a slot of an unknown index":     {store.KeyOf(slotKey, "job", "g", "x"), "odd", slots, `cannot restore record ["slot" "job" "g" "x" "0"]: `},
		"a slot of an unknown lane":      {store.KeyOf(slotKey, "job", "g", "0", "x"), "odd", slots, `cannot restore record ["slot" "job" "g" "0" "x" "0"]: `},
		"a slot without its allocations": {store.KeyOf(slotKey, "job", "g", "0"), map[string]any{}, slots, `cannot restore record ["slot" "job" "g" "0" "0"]: `},
	} {
		var record store.Change
		record.Put(tt.key, tt.value)
		e, recorder, told := damaged(t, record)
		r := newJobRun(e.host, &e.runs, &api.Job{ID: new("job"), Version: new(uint64(0))}, nil, nil, recorder)
		tt.read(recovery{r})
		if got := told(); len(got) != 1 || !strings.HasPrefix(got[0], tt.want) {
			t.Errorf("%s: told %q, want %q", name, got, tt.want)
		}
		if r.stopped || r.stopping.Err() != nil || len(r.versions) > 1 || len(r.deployments) > 0 || len(r.scalings) > 0 || len(r.slots) > 0 {
			t.Errorf("%s: something was restored", name)
		}
	}
}

// A run without readable records of itself is not continued, and an order to stop or to
// kill still holds.
func TestRecordsOfARun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change       func(c *store.Change)
		err          string
		stops, kills bool
	}{
		"whole":             {func(*store.Change) {}, "", false, false},
		"stopped":           {func(c *store.Change) { c.Put(store.KeyOf(orderKey), orderStop) }, "", true, false},
		"killed":            {func(c *store.Change) { c.Put(store.KeyOf(orderKey), orderKill) }, "", true, true},
		"an odd order":      {func(c *store.Change) { c.Put(store.KeyOf(orderKey), 7) }, "cannot unmarshal number", false, false},
		"an odd run":        {func(c *store.Change) { c.Put(store.KeyOf(runKey), 7) }, "cannot unmarshal number", false, false},
		"an odd job":        {func(c *store.Change) { c.Put(store.KeyOf(jobKey, "other"), 7) }, "cannot unmarshal number", false, false},
		"another job alone": {func(c *store.Change) { c.Put(store.KeyOf(runKey), runRecord{Job: "other"}) }, `its state lacks job "other"`, false, false},
		"an odd purge":      {func(c *store.Change) { c.Put(store.KeyOf(purgedKey, "job"), 7) }, "cannot unmarshal number", false, false},
	} {
		var record store.Change
		record.Put(store.KeyOf(runKey), runRecord{Job: "job"})
		record.Put(store.KeyOf(jobKey, "job"), &api.Job{ID: new("job")})
		tt.change(&record)
		e, recorder, _ := damaged(t, record)
		r, err := restoreRun(e, &datadir.Run{Dir: t.TempDir()}, recorder)
		expectError(t, name, err, tt.err)
		if (r == nil) != (tt.err != "") || (e.stopping.Err() != nil) != tt.stops || (e.hard.Err() != nil) != tt.kills {
			t.Errorf("%s: %v; stopping %v, killing %v", name, r, e.stopping.Err(), e.hard.Err())
		}
	}
}
