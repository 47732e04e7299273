package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"
)

// keptEvaluations is how many evaluations are known; older ones are forgotten.
const keptEvaluations = 1000

// Why there is an evaluation, in Nomad's words.
const (
	triggerRegister   = "job-register"
	triggerDeregister = "job-deregister"
	triggerFailure    = "alloc-failure"
	triggerStop       = "alloc-stop"
	triggerDeployment = "deployment-watcher"
)

// evaluationRecord is what is known of an evaluation. There is no scheduler
// here: an evaluation stands for a change, by which clients find what came of
// it, and is complete from the beginning.
type evaluationRecord struct {
	id, job string
	trigger string
	at      time.Time
	index   uint64
}

// evaluate makes the evaluation of a change and returns its ID. The ID follows
// from what changed, so that whoever learns of the change first makes it: who
// ordered it, or the tracker by its events.
func (t *tracker) evaluate(trigger, job, subject string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now++
	id := t.evaluateLocked(trigger, job, subject)
	t.flush()
	return id
}

func (t *tracker) evaluateLocked(trigger, job, subject string) string {
	id := t.evaluationID(trigger, subject)
	if slices.ContainsFunc(t.evaluations, func(e evaluationRecord) bool { return e.id == id }) {
		return id
	}
	kind := "EvaluationUpdated"
	switch trigger {
	case triggerRegister:
		kind = "JobRegistered"
		t.change(jobsTopic(""), jobTopic(job))
		t.registered[job], t.adopted[subject] = t.now, t.now
		t.happened = append(t.happened, occurrence{topic: api.TopicJob, kind: kind, key: job})
	case triggerDeregister:
		kind = "JobDeregistered"
		t.change(jobsTopic(""), jobTopic(job))
		t.happened = append(t.happened, occurrence{topic: api.TopicJob, kind: kind, key: job})
	case triggerStop:
		kind = "AllocationUpdateDesiredStatus"
	}
	t.keepEvaluation(id, job, trigger, kind)
	return id
}

// keepEvaluation makes an evaluation known, and tells of it as an event of a
// kind. The lock is held.
func (t *tracker) keepEvaluation(id, job, trigger, kind string) {
	if len(t.evaluations) == keptEvaluations {
		t.forget(evaluationTopic(t.evaluations[0].id))
		t.evaluations = slices.Delete(t.evaluations, 0, 1)
	}
	t.evaluations = append(t.evaluations, evaluationRecord{id, job, trigger, time.Now(), t.now})
	t.change(evaluationsTopic(""), evaluationTopic(id), jobEvaluationsTopic(job))
	t.happened = append(t.happened, occurrence{topic: api.TopicEvaluation, kind: kind, key: id, filters: []string{job}})
}

func (t *tracker) evaluationID(trigger, subject string) string {
	sum := sha256.Sum256([]byte(t.seedLocked() + "\x00" + trigger + "\x00" + subject))
	h := hex.EncodeToString(sum[:16])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

// seedLocked keeps the IDs of one run from being those of another. They are the
// same again in an engine that recovers the run.
func (t *tracker) seedLocked() string {
	if t.seed != "" {
		return t.seed
	}
	if dirs := t.engine.RunDirs(); len(dirs) > 0 {
		t.seed = slices.Min(slices.Collect(maps.Values(dirs)))
	}
	return t.seed
}

// forgetEvaluations forgets those that over names.
func (t *tracker) forgetEvaluations(over func(evaluationRecord) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now++
	t.evaluations = slices.DeleteFunc(t.evaluations, func(e evaluationRecord) bool {
		if !over(e) {
			return false
		}
		t.change(evaluationsTopic(""), jobEvaluationsTopic(e.job))
		t.forget(evaluationTopic(e.id))
		return true
	})
}

// countEvaluations answers GET /v1/evaluations/count.
func (s *Server) countEvaluations(_ http.ResponseWriter, r *request) (any, error) {
	list, err := filtered(r, s.evaluations(r, func(evaluationRecord) bool { return true }))
	return struct{ Count int }{len(list)}, err
}

// evaluated returns the evaluations that are known, oldest first.
func (t *tracker) evaluated() []evaluationRecord {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.evaluations)
}

// evaluation describes an evaluation in Nomad's words.
func (s *Server) evaluation(run *run, e evaluationRecord) *api.Evaluation {
	described := &api.Evaluation{
		ID: e.id, JobID: e.job, TriggeredBy: e.trigger, Namespace: api.DefaultNamespace, Status: api.EvalStatusComplete,
		QueuedAllocations: map[string]int{}, SnapshotIndex: e.index, CreateIndex: e.index, ModifyIndex: e.index,
		CreateTime: e.at.UnixNano(), ModifyTime: e.at.UnixNano(),
	}
	described.DeploymentID = s.deploymentOf(e)
	if j := run.job(e.job); j != nil {
		described.Namespace, described.Type, described.Priority = *j.Namespace, *j.Type, *j.Priority
		described.JobModifyIndex = *j.JobModifyIndex
		for _, g := range j.TaskGroups {
			described.QueuedAllocations[*g.Name] = 0
		}
	}
	return described
}

// evaluations are those that a request may see and that keep lets pass, oldest
// first.
func (s *Server) evaluations(r *request, keep func(evaluationRecord) bool) []*api.Evaluation {
	run, list := s.look(), []*api.Evaluation{}
	for _, e := range s.tracker.evaluated() {
		if described := s.evaluation(run, e); keep(e) && r.inNamespace(described.Namespace) {
			list = append(list, described)
		}
	}
	return list
}

// listEvaluations answers GET /v1/evaluations, by ID when a prefix is given and
// by age otherwise.
func (s *Server) listEvaluations(_ http.ResponseWriter, r *request) (any, error) {
	prefix, job, status := plainID(r.query.Get("prefix")), r.query.Get("job"), r.query.Get("status")
	list := s.evaluations(r, func(e evaluationRecord) bool {
		return strings.HasPrefix(plainID(e.id), prefix) && (job == "" || e.job == job) &&
			(status == "" || status == api.EvalStatusComplete)
	})
	return page(r, list, func(e *api.Evaluation) string {
		if prefix != "" {
			return e.ID
		}
		return byAge(e.CreateIndex, e.ID)
	})
}

// jobEvaluations answers GET /v1/job/:id/evaluations; a job that is not known
// has none.
func (s *Server) jobEvaluations(_ http.ResponseWriter, r *request) (any, error) {
	return s.evaluations(r, func(e evaluationRecord) bool { return e.job == r.id }), nil
}

// getEvaluation answers GET /v1/evaluation/:id.
func (s *Server) getEvaluation(_ http.ResponseWriter, r *request) (any, error) {
	found := s.evaluations(r, func(e evaluationRecord) bool { return e.id == r.id })
	if len(found) == 0 {
		return nil, fail(http.StatusNotFound, "eval not found")
	}
	return found[0], nil
}

// evaluationAllocations answers GET /v1/evaluation/:id/allocations: those that
// were placed because of it.
func (s *Server) evaluationAllocations(_ http.ResponseWriter, r *request) (any, error) {
	stubs := []*api.AllocationListStub{}
	for _, a := range s.engine.Allocs() {
		if s.tracker.alloc(a.ID).evaluation == r.id && r.inNamespace(*a.Job.Namespace) {
			stubs = append(stubs, s.allocStub(a))
		}
	}
	return stubs, nil
}
