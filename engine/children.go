package engine

import (
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/store"
	"taskrun/engine/update"
)

// newChild returns a job that runs on behalf of its parent. It shares the
// parent's data, which is read only.
func newChild(parent *api.Job, id string) *api.Job {
	child := *parent
	child.ID, child.Name, child.ParentID = &id, &id, parent.ID
	child.Version, child.SubmitTime, child.CreateIndex = new(uint64(0)), new(time.Now().UnixNano()), nil
	return &child
}

// launch starts a child in the directory of its parent's run, and stores that
// together with what.
func (c *children) launch(child *api.Job, what store.Change) error {
	r := c.parent
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || r.settled.Err() != nil || isStopped(r.newest.Load()) {
		return fmt.Errorf("cannot run job %q: it is being stopped", *r.job.ID)
	}
	if _, err := r.runs.find(r.host.keyOf(child)); err == nil && r.host.cfg.Resident {
		r.recorder.Commit(what)
		return nil // it was launched in the same second
	}
	if r.recorder.Durable() {
		what.Put(store.KeyOf(jobKey, r.host.keyOf(child)), child)
		r.recorder.Commit(what)
	}
	c.begin(child, func() {})
	return nil
}

// restore starts the children that an earlier engine has left running.
func (c *children) restore() {
	c.parent.mu.Lock()
	defer c.parent.mu.Unlock()
	for _, child := range c.orphans {
		c.parent.runs.finding.Add(1)
		c.begin(child, c.parent.runs.finding.Done)
	}
}

// begin starts a child. The caller must hold the lock.
func (c *children) begin(child *api.Job, restored func()) {
	parent := c.parent
	r := newJobRun(parent.host, parent.runs, child, parent.dir, parent.ports.memory, parent.recorder)
	r.hostEnv = parent.hostEnv
	if parent.host.cfg.Resident {
		r.home = parent
	}
	r.ports.sequence = parent.ports.sequence
	for _, g := range child.TaskGroups {
		for i := range update.Count(child, g) {
			r.ports.plan(g, i, 0)
		}
	}
	r.mu.Lock()
	r.introduce()
	r.mu.Unlock()
	c.mu.Lock()
	c.known[r.key] = r
	c.mu.Unlock()
	parent.runs.addChild(r)
	start := func() { r.restore(); restored() }
	if parent.host.cfg.Resident {
		r.enter(func() { start(); r.runGroups() })
		return
	}
	c.live.Add(1)
	c.runs.Go(func() {
		start()
		r.runGroups()
		r.lives.Wait()
		r.finish()
		c.live.Add(-1)
	})
}
