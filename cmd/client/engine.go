package client

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// Self describes an engine.
type Self struct {
	Version string
	PID     int
	DataDir string
	Runs    map[string]string // directory of each job's run

	// Of an agent.
	Agent    bool
	Detached bool
	Address  string // of its port; empty: none
	Open     bool   // the port needs no token
}

// Self returns the description of an engine of this machine.
func (s *Server) Self(ctx context.Context) (*Self, error) {
	answer, _, err := ask(ctx, s, "get the status", 0, func(q *api.QueryOptions) (answer api.AgentSelf, meta *api.QueryMeta, err error) {
		meta, err = s.API.Raw().Query("/v1/agent/self", &answer, q)
		return answer, meta, err
	})
	if err != nil {
		return nil, err
	}
	t := answer.Stats["taskrun"]
	pid, _ := strconv.Atoi(t["pid"]) // 0 if it is missing
	return &Self{
		Version: t["version"], PID: pid, DataDir: t["data_dir"], Runs: answer.Stats["runs"],
		Agent: t["agent"] == "true", Detached: t["detached"] == "true", Address: t["address"], Open: t["open"] == "true",
	}, nil
}

// In reports whether a data directory is that of the engine.
func (s *Self) In(dataDir string) bool {
	if s.DataDir == dataDir {
		return true
	}
	one, err := os.Stat(s.DataDir)
	if err != nil {
		return false
	}
	other, err := os.Stat(dataDir)
	return err == nil && os.SameFile(one, other)
}

// Engine is an engine that has described itself.
type Engine struct {
	Server *Server
	Self   *Self
}

// Engines returns those of some servers of this machine that describe themselves, and
// errors like List.
func Engines(ctx context.Context, servers []*Server) ([]Engine, []error) {
	return each(servers, func(s *Server) ([]Engine, error) {
		self, err := s.Self(ctx)
		switch {
		case err != nil:
			return nil, err
		case self.Agent:
			s = s.Agent()
		}
		return []Engine{{s, self}}, nil
	})
}

// followTime is how long a blocking query of a follower waits for a change.
const followTime = 5 * time.Minute

// eachAnswer calls seen with each new answer of a server to a query, and at least once per
// interval, until the engine does not answer or ctx ends.
func eachAnswer[T any](ctx context.Context, s *Server, often time.Duration, question func(*api.QueryOptions) (T, *api.QueryMeta, error), seen func(T)) {
	for q := (&api.QueryOptions{Namespace: s.namespace, WaitTime: often}).WithContext(ctx); ; {
		answer, meta, err := question(q)
		if err != nil {
			return
		}
		q.WaitIndex = max(meta.LastIndex, 1) // of an empty list it is 0, which means not to wait
		seen(answer)
	}
}

// FollowTasks calls seen with the tasks of an engine in allocations whose ID begins with a
// prefix, now and after each change, until the engine does not answer or ctx ends.
func (s *Server) FollowTasks(ctx context.Context, prefix string, seen func([]*Task)) {
	list := func(q *api.QueryOptions) ([]*api.AllocationListStub, *api.QueryMeta, error) {
		q.Prefix = prefix
		return s.API.Allocations().List(q)
	}
	eachAnswer(ctx, s, followTime, list, func(stubs []*api.AllocationListStub) { seen(s.split(stubs)) })
}

// FollowChanges is like FollowTasks, but only says that there was a change. It asks for
// one allocation, because a list of thousands is large.
func (s *Server) FollowChanges(ctx context.Context, seen func()) {
	list := func(q *api.QueryOptions) ([]*api.AllocationListStub, *api.QueryMeta, error) {
		q.PerPage = 1
		return s.API.Allocations().List(q)
	}
	eachAnswer(ctx, s, followTime, list, func([]*api.AllocationListStub) { seen() })
}

// FollowJobs is like FollowTasks for jobs, which change with their deployments
// and versions. It also calls seen at least once per interval, unless that is
// 0.
func (s *Server) FollowJobs(ctx context.Context, often time.Duration, seen func([]*api.JobListStub)) {
	eachAnswer(ctx, s, cmp.Or(often, followTime), s.API.Jobs().List, seen)
}

// Grown says that an output of an engine's task has grown.
type Grown struct {
	Alloc, Task string // ID and name
	Stream      event.Stream
	NewFile     bool   // the output is in a file that was not announced before
	Data        []byte // output that is not kept in files
	Missing     string // says what of that is missing; empty: nothing
}

// FollowOutputs calls began once the engine announces which outputs grow, of an allocation
// or, without an ID, of all, and then grown with each announcement, until the engine
// does not answer or ctx ends.
func (s *Server) FollowOutputs(ctx context.Context, alloc string, began func(), grown func(Grown)) {
	q := &api.QueryOptions{Params: map[string]string{"alloc": alloc}}
	out, err := s.API.Raw().Response("/v1/client/fs/outputs", q.WithContext(ctx))
	if err != nil {
		return // the next request to the engine fails too
	}
	defer out.Close()
	began()
	for dec := json.NewDecoder(out); ; {
		var f api.StreamFrame
		if dec.Decode(&f) != nil {
			return
		}
		if g, ok := grownIn(&f); ok {
			grown(g)
		}
	}
}

// newFile is the event of an engine for output in another file.
const newFile = "new file"

// grownIn returns the announcement in a frame, whose file is ALLOC/TASK.STREAM.
func grownIn(f *api.StreamFrame) (g Grown, ok bool) {
	alloc, output, _ := strings.Cut(f.File, "/")
	for _, stream := range event.Streams {
		if task, ok := strings.CutSuffix(output, "."+stream.String()); ok {
			g = Grown{Alloc: alloc, Task: task, Stream: stream, NewFile: f.FileEvent == newFile, Data: f.Data}
			if !g.NewFile {
				g.Missing = f.FileEvent
			}
			return g, true
		}
	}
	return g, false
}
