package client

import (
	"context"
	"slices"
	"strconv"
	"sync"
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

// endTime is how long an engine may keep the question whether a job has ended,
// which is no change of anything that it waits for when the job had no task.
const endTime = time.Second

// AwaitEnd waits until jobs of an engine have ended while others go on, and
// returns false when ctx, or the engine, ends before.
func (s *Server) AwaitEnd(ctx context.Context, jobs []string) bool {
	for index := uint64(0); ; {
		list, now, err := ask(ctx, s, "ask for the jobs", index, func(q *api.QueryOptions) ([]*api.JobListStub, *api.QueryMeta, error) {
			q.WaitTime = endTime
			return s.API.Jobs().List(q)
		})
		if err != nil {
			return false
		}
		index = now
		ended, others := true, false
		for _, j := range list {
			dead := j.Status == "dead"
			if slices.Contains(jobs, j.ID) {
				ended = ended && dead
			} else {
				others = others || !dead
			}
		}
		if ended && others {
			return true
		}
	}
}

// Changes calls changed whenever something about the allocations, or the
// deployment of one of the jobs, of an engine has changed, until it does not
// answer any more or ctx has ended. One call follows another.
func (s *Server) Changes(ctx context.Context, jobs []string, changed func()) {
	ctx, cancel := context.WithCancel(ctx)
	var calling sync.Mutex
	var watching sync.WaitGroup
	watch := func(ask func(*api.QueryOptions) (*api.QueryMeta, error)) {
		watching.Go(func() {
			defer cancel()
			s.watch(ctx, func(q *api.QueryOptions) (*api.QueryMeta, error) {
				meta, err := ask(q)
				if err == nil {
					calling.Lock()
					defer calling.Unlock()
					changed()
				}
				return meta, err
			})
		})
	}
	for _, job := range jobs {
		watch(func(q *api.QueryOptions) (*api.QueryMeta, error) {
			_, meta, err := s.API.Jobs().LatestDeployment(job, q)
			return meta, err
		})
	}
	watch(func(q *api.QueryOptions) (*api.QueryMeta, error) {
		_, meta, err := s.API.Allocations().List(q)
		return meta, err
	})
	watching.Wait()
}
