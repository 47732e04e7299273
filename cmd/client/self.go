package client

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"
)

// Self is what an engine says of itself.
type Self struct {
	Version string
	PID     int
	DataDir string
	Runs    map[string]string // directories of the runs, by job
}

// Self asks an engine of this machine what it is.
func (s *Server) Self(ctx context.Context) (*Self, error) {
	answer, _, err := ask(ctx, s, "ask who it is", 0, func(q *api.QueryOptions) (answer api.AgentSelf, meta *api.QueryMeta, err error) {
		meta, err = s.API.Raw().Query("/v1/agent/self", &answer, q)
		return answer, meta, err
	})
	if err != nil {
		return nil, err
	}
	t := answer.Stats["taskrun"]
	pid, _ := strconv.Atoi(t["pid"]) // 0 for an engine that does not say
	return &Self{Version: t["version"], PID: pid, DataDir: t["data_dir"], Runs: answer.Stats["runs"]}, nil
}

// watchTime is how long a server may keep a question whose answer does not
// change.
const watchTime = 5 * time.Minute

// watch calls seen with the answer to a question, again with each new one and at
// the latest every so often, until the engine does not answer or ctx has ended.
func watch[T any](ctx context.Context, often time.Duration, question func(*api.QueryOptions) (T, *api.QueryMeta, error), seen func(T)) {
	for q := (&api.QueryOptions{WaitTime: often}).WithContext(ctx); ; {
		answer, meta, err := question(q)
		if err != nil {
			return
		}
		q.WaitIndex = meta.LastIndex
		seen(answer)
	}
}

// WatchTasks calls seen with the tasks of an engine, and again whenever something
// about them has changed, until the engine does not answer or ctx has ended.
func (s *Server) WatchTasks(ctx context.Context, seen func([]*Task)) {
	watch(ctx, watchTime, s.API.Allocations().List, func(stubs []*api.AllocationListStub) { seen(s.split(stubs)) })
}

// WatchJobs does so with the jobs, which change with their deployments and
// versions, too. It calls seen at the latest every so often; 0: when they change.
func (s *Server) WatchJobs(ctx context.Context, often time.Duration, seen func([]*api.JobListStub)) {
	watch(ctx, cmp.Or(often, watchTime), s.API.Jobs().List, seen)
}
