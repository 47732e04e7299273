package engine

import (
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/store"
)

// newRecorder returns what publishes, and perhaps stores, what happens in a new
// run.
func newRecorder(e *Engine, job *api.Job, dir *allocdir.Run) (*store.Recorder, error) {
	if !e.cfg.Durable {
		return store.NewRecorder(&e.bus), nil
	}
	what := runRecord{Job: *job.ID, Began: time.Now()}
	for _, v := range e.cfg.HostEnv {
		what.HostEnv = append(what.HostEnv, store.Text(v))
	}
	var c store.Change
	c.Put(store.KeyOf(runKey), what)
	c.Put(store.KeyOf(jobKey, *job.ID), job)
	recorder, err := store.Create(&e.bus, dir.Dir, c)
	if err == nil && e.onRecorder != nil {
		e.onRecorder(recorder)
	}
	return recorder, err
}
