package engine

import (
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/store"
)

// newChild returns a job to be run in the name of its parent. It shares all
// that is read only with it.
func newChild(parent *api.Job, id string) *api.Job {
	child := *parent
	child.ID, child.Name, child.ParentID = &id, &id, parent.ID
	child.Version, child.SubmitTime = new(uint64(0)), new(time.Now().UnixNano())
	return &child
}

// launch runs a child of the job in the directory of the job's own run, and
// stores that together with c.
func (r *jobRun) launch(child *api.Job, c store.Change) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || r.settled.Err() != nil {
		return fmt.Errorf("cannot run job %q: it is being stopped", *r.job.ID)
	}
	if r.recorder.Durable() {
		c.Put(store.KeyOf(jobKey, *child.ID), child)
		r.recorder.Commit(c)
	}
	run := newJobRun(r.engine, child, r.dir, r.memory, r.recorder)
	run.introduce()
	r.beginLocked(run, func() {})
	return nil
}

// begin runs a child that an earlier engine has left.
func (r *jobRun) begin(child *api.Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.engine.finding.Add(1)
	run := newJobRun(r.engine, child, r.dir, r.memory, r.recorder)
	run.introduce()
	r.beginLocked(run, r.engine.finding.Done)
}

func (r *jobRun) beginLocked(c *jobRun, restored func()) {
	c.hostEnv = r.hostEnv
	r.known[*c.job.ID] = c
	r.live++
	r.children.Go(func() {
		c.restoreStop()
		c.restoreVersions()
		c.deployFirst()
		c.restoreSlots()
		close(c.ready)
		restored()
		c.runGroups()
		c.finish()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.live--
	})
}
