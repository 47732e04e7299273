package tracker

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/httpapi/feed"
	"taskrun/engine/httpapi/topic"
)

// keptEvaluations is how many evaluations are known; older ones are forgotten.
const keptEvaluations = 1000

// Why there is an evaluation, in Nomad's words.
const (
	TriggerRegister   = "job-register"
	TriggerDeregister = "job-deregister"
	TriggerFailure    = "alloc-failure"
	TriggerStop       = "alloc-stop"
	TriggerDeployment = "deployment-watcher"
)

// Version names a version of a job.
func Version(job string, number uint64) string { return job + "@" + strconv.FormatUint(number, 10) }

// Evaluate makes the evaluation of a change and returns its ID. The ID follows
// from what changed, so that whoever learns of the change first makes it: who
// ordered it, or the tracker by its events.
func (t *Tracker) Evaluate(trigger, job, subject string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now++
	id := t.evaluateLocked(trigger, job, subject)
	t.flush()
	return id
}

func (t *Tracker) evaluateLocked(trigger, job, subject string) string {
	id := t.evaluationID(trigger, subject)
	if slices.ContainsFunc(t.evaluations, func(e Evaluation) bool { return e.ID == id }) {
		return id
	}
	kind := "EvaluationUpdated"
	switch trigger {
	case TriggerRegister:
		kind = "JobRegistered"
		t.change(topic.Jobs(""), topic.Job(job))
		t.registered[job], t.adopted[subject] = t.now, t.now
		t.happened = append(t.happened, feed.Occurrence{Topic: api.TopicJob, Kind: kind, Key: job})
	case TriggerDeregister:
		kind = "JobDeregistered"
		t.change(topic.Jobs(""), topic.Job(job))
		t.happened = append(t.happened, feed.Occurrence{Topic: api.TopicJob, Kind: kind, Key: job})
	case TriggerStop:
		kind = "AllocationUpdateDesiredStatus"
	}
	t.keepEvaluation(id, job, trigger, kind)
	return id
}

// Reevaluate makes an evaluation of a job because somebody wants one.
func (t *Tracker) Reevaluate(job string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now++
	id := t.evaluationID(TriggerRegister, "again "+job+" "+strconv.FormatUint(t.now, 10))
	t.keepEvaluation(id, job, TriggerRegister, "EvaluationUpdated")
	t.flush()
	return id
}

// keepEvaluation makes an evaluation known, and tells of it as an event of a
// kind. The lock is held.
func (t *Tracker) keepEvaluation(id, job, trigger, kind string) {
	if len(t.evaluations) == keptEvaluations {
		t.forget(topic.Evaluation(t.evaluations[0].ID))
		t.evaluations = slices.Delete(t.evaluations, 0, 1)
	}
	t.evaluations = append(t.evaluations, Evaluation{id, job, trigger, time.Now(), t.now})
	t.change(topic.Evaluations(""), topic.Evaluation(id), topic.JobEvaluations(job))
	t.happened = append(t.happened, feed.Occurrence{Topic: api.TopicEvaluation, Kind: kind, Key: id, Filters: []string{job}})
}

func (t *Tracker) evaluationID(trigger, subject string) string {
	sum := sha256.Sum256([]byte(t.seedLocked() + "\x00" + trigger + "\x00" + subject))
	h := hex.EncodeToString(sum[:16])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

// seedLocked keeps the IDs of one run from being those of another. They are the
// same again in an engine that recovers the run.
func (t *Tracker) seedLocked() string {
	if t.seed != "" {
		return t.seed
	}
	if dirs := t.engine.RunDirs(); len(dirs) > 0 {
		t.seed = slices.Min(slices.Collect(maps.Values(dirs)))
	}
	return t.seed
}

// ForgetEvaluations forgets those that over names.
func (t *Tracker) ForgetEvaluations(over func(Evaluation) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now++
	t.evaluations = slices.DeleteFunc(t.evaluations, func(e Evaluation) bool {
		if !over(e) {
			return false
		}
		t.change(topic.Evaluations(""), topic.JobEvaluations(e.Job))
		t.forget(topic.Evaluation(e.ID))
		return true
	})
}

// Evaluations returns the evaluations that are known, oldest first.
func (t *Tracker) Evaluations() []Evaluation {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.evaluations)
}

// Registration is the ID of the evaluation with which a version of a job came.
func (t *Tracker) Registration(job string, number uint64) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.evaluationID(TriggerRegister, Version(job, number))
}

// Registered returns the index of a job's newest version; 0 before it was told
// of.
func (t *Tracker) Registered(job string) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.registered[job]
}

// Adopted returns the index of a version of a job, by its name.
func (t *Tracker) Adopted(name string) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(t.adopted[name], topic.First)
}

// PolicyID follows from what a policy is for.
func (t *Tracker) PolicyID(target ...string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.evaluationID("scaling-policy", strings.Join(target, "\x00"))
}
