package client

import (
	"context"
	"net/url"
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
	var answer api.AgentSelf
	err := s.ask(ctx, "ask who it is", func(q *api.QueryOptions) error {
		_, err := s.API.Raw().Query("/v1/agent/self", &answer, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	t := answer.Stats["taskrun"]
	pid, _ := strconv.Atoi(t["pid"]) // 0 for an engine that does not say
	return &Self{Version: t["version"], PID: pid, DataDir: t["data_dir"], Runs: answer.Stats["runs"]}, nil
}

// Job returns a job of an engine.
func (s *Server) Job(ctx context.Context, id string) (*api.Job, error) {
	var job *api.Job
	err := s.ask(ctx, "ask for job "+strconv.Quote(id), func(q *api.QueryOptions) error {
		j, _, err := s.API.Jobs().Info(id, q)
		job = j
		return err
	})
	return job, err
}

// Stop stops a job. It returns before the job has ended.
func (s *Server) Stop(ctx context.Context, job string) error {
	return s.stop(ctx, job, "/v1/job/"+url.PathEscape(job))
}

// StopRun stops the whole run of an engine that has a job, or kills it.
func (s *Server) StopRun(ctx context.Context, job string, kill bool) error {
	how := "stop"
	if kill {
		how = "kill"
	}
	return s.stop(ctx, job, "/v1/job/"+url.PathEscape(job)+"?run="+how)
}

func (s *Server) stop(ctx context.Context, job, path string) error {
	return s.ask(ctx, "stop job "+strconv.Quote(job), func(q *api.QueryOptions) error {
		w := &api.WriteOptions{Namespace: s.namespace}
		_, err := s.API.Raw().Delete(path, nil, w.WithContext(q.Context()))
		return err
	})
}

// endTime is how long an engine may keep the question whether a job has ended,
// which is no change of anything that it waits for when the job had no task.
const endTime = time.Second

// AwaitEnd waits until jobs of an engine have ended while others go on, and
// returns false when ctx, or the engine, ends before.
func (s *Server) AwaitEnd(ctx context.Context, jobs []string) bool {
	for index := uint64(0); ; {
		var list []*api.JobListStub
		err := s.ask(ctx, "ask for the jobs", func(q *api.QueryOptions) error {
			q.WaitIndex, q.WaitTime = index, endTime
			stubs, meta, err := s.API.Jobs().List(q)
			if err == nil {
				list, index = stubs, meta.LastIndex
			}
			return err
		})
		if err != nil {
			return false
		}
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
