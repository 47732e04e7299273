package engine

import (
	"sync"
	"testing"

	"github.com/hashicorp/nomad/api"

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
