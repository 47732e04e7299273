package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

// nomad is a server in memory that responds to each path from a list, in order,
// with a growing index, and records the requests. At the end of a list it does
// not respond, and for a path without a list it returns its status.
type nomad struct {
	code    int
	answers map[string][]any
	dies    int // at the request with this number; 0: never

	mu    sync.Mutex
	given map[string]int
	asked []string // METHOD PATH?QUERY BODY, with the non-empty keys of the body
}

// text is a response that is not JSON.
type text string

func (n *nomad) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	n.asked = append(n.asked, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+bodyOf(r)))
	if len(n.asked) == n.dies {
		n.mu.Unlock()
		return nil, io.ErrUnexpectedEOF
	}
	list, ok := n.answers[r.URL.Path]
	i := n.given[r.URL.Path]
	if ok && i < len(list) {
		if n.given == nil {
			n.given = map[string]int{}
		}
		n.given[r.URL.Path]++
	}
	n.mu.Unlock()
	if !ok {
		return response(r, n.code, 0, []byte("no")), nil
	}
	if i == len(list) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	if raw, ok := list[i].(text); ok {
		return response(r, http.StatusOK, 0, []byte(raw)), nil
	}
	body, err := json.Marshal(list[i])
	return response(r, http.StatusOK, firstIndex+i, body), err
}

// firstIndex is the index of the first answer to a query.
const firstIndex = 7

func response(r *http.Request, code, index int, body []byte) *http.Response {
	return &http.Response{
		StatusCode: code, Header: http.Header{"X-Nomad-Index": {strconv.Itoa(index)}}, ContentLength: int64(len(body)),
		Body: io.NopCloser(bytes.NewReader(body)), Request: r,
	}
}

func bodyOf(r *http.Request) string {
	if r.Body == nil {
		return ""
	}
	var body any
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		return "?"
	}
	text, err := json.Marshal(filled(body))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// filled returns a JSON value without zero values.
func filled(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			if v = filled(v); v == nil {
				delete(value, key)
			} else {
				value[key] = v
			}
		}
		if len(value) == 0 {
			return nil
		}
	case []any:
		if len(value) == 0 {
			return nil
		}
		for i := range value {
			value[i] = filled(value[i])
		}
	case string:
		if value == "" || value == "0001-01-01T00:00:00Z" {
			return nil
		}
	case float64:
		if value == 0 {
			return nil
		}
	case bool:
		if !value {
			return nil
		}
	}
	return value
}

// server returns the cluster, or the engine at a socket.
func (n *nomad) server(t *testing.T, socket string) *Server {
	t.Helper()
	c, err := api.NewClient(&api.Config{Address: "http://nomad", HttpClient: &http.Client{Transport: n}})
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{API: c, Socket: socket, namespace: "ops"}
	if socket == "" {
		s.Address = "http://nomad"
	}
	return s
}

// everything lists each request of this package.
var everything = []struct {
	name   string
	do     func(ctx context.Context, s *Server) (any, error)
	path   string
	answer any
	asks   string        // METHOD PATH?QUERY BODY
	gets   string        // the result as JSON, without zero values
	doing  string        // description in an error
	limit  time.Duration // time limit of a cluster; 0: none
}{
	{
		"a job", func(ctx context.Context, s *Server) (any, error) { return answered(s.Info(ctx, "web", 0)) },
		"/v1/job/web",
		api.Job{ID: new("web")},
		"GET /v1/job/web?namespace=ops", `[{"ID":"web"},7]`, `get job "web@ops"`, clusterTime,
	}, {
		"a job that changes", func(ctx context.Context, s *Server) (any, error) { return answered(s.Info(ctx, "web", 5)) },
		"/v1/job/web",
		api.Job{ID: new("web")},
		"GET /v1/job/web?index=5&namespace=ops&wait=45000ms", `[{"ID":"web"},7]`, `get job "web@ops"`, time.Minute,
	}, {
		"allocations", func(ctx context.Context, s *Server) (any, error) { return answered(s.Allocations(ctx, "web", 5)) },
		"/v1/job/web/allocations",
		[]any{map[string]string{"ID": "1"}},
		"GET /v1/job/web/allocations?all=false&index=5&namespace=ops&wait=45000ms",
		`[[{"ID":"1"}],7]`, `list the allocations of job "web@ops"`, time.Minute,
	}, {
		"evaluations", func(ctx context.Context, s *Server) (any, error) { return answered(s.Evaluations(ctx, "web", 5)) },
		"/v1/job/web/evaluations",
		[]any{map[string]string{"ID": "1"}},
		"GET /v1/job/web/evaluations?index=5&namespace=ops&wait=45000ms",
		`[[{"ID":"1"}],7]`, `list the evaluations of job "web@ops"`, time.Minute,
	}, {
		"a deployment", func(ctx context.Context, s *Server) (any, error) { return answered(s.Deployment(ctx, "web", 5)) },
		"/v1/job/web/deployment",
		api.Deployment{ID: "d"},
		"GET /v1/job/web/deployment?index=5&namespace=ops&wait=45000ms",
		`[{"ID":"d"},7]`, `get the deployment of job "web@ops"`, time.Minute,
	}, {
		"an evaluation", func(ctx context.Context, s *Server) (any, error) { return answered(onJob(s).Evaluation(ctx, "e", 5)) },
		"/v1/evaluation/e",
		api.Evaluation{ID: "e"},
		"GET /v1/evaluation/e?index=5&namespace=shop&related=true&wait=45000ms",
		`[{"ID":"e"},7]`, `follow the evaluation of job "web@shop"`, time.Minute,
	}, {
		"deployments", func(ctx context.Context, s *Server) (any, error) { return answered(onJob(s).Deployments(ctx, 5)) },
		"/v1/job/web/deployments",
		[]any{map[string]string{"ID": "d"}},
		"GET /v1/job/web/deployments?all=false&index=5&namespace=shop&wait=45000ms",
		`[[{"ID":"d"}],7]`, `follow the deployment of job "web@shop"`, time.Minute,
	}, {
		"the job of a job", func(ctx context.Context, s *Server) (any, error) { return onJob(s).Info(ctx) },
		"/v1/job/web",
		api.Job{ID: new("web")},
		"GET /v1/job/web?namespace=shop", `{"ID":"web"}`, `get job "web@shop"`, clusterTime,
	}, {
		"children", func(ctx context.Context, s *Server) (any, error) { return answered(s.Children(ctx, "web", 5)) },
		"/v1/jobs",
		[]api.JobListStub{{ID: "web/1", ParentID: "web"}, {ID: "web/other"}},
		"GET /v1/jobs?index=5&namespace=ops&prefix=web%2F&wait=45000ms",
		`[[{"ID":"web/1","ParentID":"web"}],7]`, `list the jobs of "web@ops"`, time.Minute,
	}, {
		"tasks", func(ctx context.Context, s *Server) (any, error) {
			tasks, index, err := s.Tasks(ctx, "web", 5)
			return []any{len(tasks), index}, err
		},
		"/v1/job/web/allocations",
		[]any{map[string]string{"ID": "1", "JobID": "web"}},
		"GET /v1/job/web/allocations?all=false&index=5&namespace=ops&wait=45000ms",
		`[1,7]`, "list the tasks", time.Minute,
	}, {
		"actions", func(ctx context.Context, s *Server) (any, error) {
			actions, err := Actions(ctx, []*Task{onTask(s), onTask(s)})
			return len(actions), err
		},
		"/v1/job/web",
		api.Job{ID: new("web"), TaskGroups: []*api.TaskGroup{{Name: new("g"), Tasks: []*api.Task{{Name: "t", Actions: []*api.Action{{}, {}}}}}}},
		"GET /v1/job/web?namespace=shop", `4`, `get job "web@shop"`, clusterTime,
	}, {
		"scale", func(ctx context.Context, s *Server) (any, error) { return onJob(s).Scale(ctx, "g", 3) },
		"/v1/job/web/scale",
		map[string]string{"EvalID": "e"},
		`PUT /v1/job/web/scale?namespace=shop {"Count":3,"Message":"scaled by taskrun","Target":{"Group":"g","Job":"web"}}`,
		`"e"`, `scale job "web@shop"`, clusterTime,
	}, {
		"groups", func(ctx context.Context, s *Server) (any, error) { return onJob(s).Groups(ctx) },
		"/v1/job/web/scale",
		api.JobScaleStatusResponse{TaskGroups: map[string]api.TaskGroupScaleStatus{"g": {Desired: 3}}},
		"GET /v1/job/web/scale?namespace=shop", `{"g":3}`, `get the groups of job "web@shop"`, clusterTime,
	}, {
		"revert", func(ctx context.Context, s *Server) (any, error) { return onJob(s).Revert(ctx, 2) },
		"/v1/job/web/revert",
		map[string]string{"EvalID": "e"},
		`PUT /v1/job/web/revert?namespace=shop {"JobID":"web","JobVersion":2}`, `"e"`, `revert job "web@shop"`, clusterTime,
	}, {
		"versions", func(ctx context.Context, s *Server) (any, error) { return onJob(s).Versions(ctx) },
		"/v1/job/web/versions",
		map[string]any{"Versions": []api.Job{{ID: new("web")}}},
		"GET /v1/job/web/versions?diffs=false&namespace=shop",
		`[{"ID":"web"}]`, `get the versions of job "web@shop"`, clusterTime,
	}, {
		"the deployment of a job", func(ctx context.Context, s *Server) (any, error) { return onJob(s).Deployment(ctx) },
		"/v1/job/web/deployment",
		api.Deployment{ID: "d"},
		"GET /v1/job/web/deployment?namespace=shop", `{"ID":"d"}`, `get the deployment of job "web@shop"`, clusterTime,
	}, {
		"promote all", func(ctx context.Context, s *Server) (any, error) { return nil, onJob(s).Promote(ctx, "d", nil) },
		"/v1/deployment/promote/d",
		map[string]string{},
		`PUT /v1/deployment/promote/d?namespace=shop {"All":true,"DeploymentID":"d"}`, `null`, `promote the deployment of job "web@shop"`, clusterTime,
	}, {
		"promote groups", func(ctx context.Context, s *Server) (any, error) {
			return nil, onJob(s).Promote(ctx, "d", []string{"g"})
		},
		"/v1/deployment/promote/d",
		map[string]string{},
		`PUT /v1/deployment/promote/d?namespace=shop {"DeploymentID":"d","Groups":["g"]}`, `null`, `promote the deployment of job "web@shop"`, clusterTime,
	}, {
		"update", func(ctx context.Context, s *Server) (any, error) {
			return onJob(s).Register(ctx, &api.Job{ID: new("web")}, &api.JobSubmission{Source: "text"})
		},
		"/v1/jobs",
		map[string]string{"EvalID": "e"},
		`PUT /v1/jobs?namespace=shop {"Job":{"ID":"web"},"Submission":{"Source":"text"}}`, `"e"`, `update job "web@shop"`, clusterTime,
	}, {
		"plan", func(ctx context.Context, s *Server) (any, error) {
			return s.Plan(ctx, &api.Job{ID: new("web"), Namespace: new("its")})
		},
		"/v1/job/web/plan",
		map[string]string{"Warnings": "w"},
		`PUT /v1/job/web/plan?namespace=ops {"Diff":true,"Job":{"ID":"web","Namespace":"its"}}`, `{"Warnings":"w"}`, `plan job "web@ops"`, clusterTime,
	}, {
		"plan in the job's namespace", func(ctx context.Context, s *Server) (any, error) {
			return (&Server{API: s.API, Address: s.Address}).Plan(ctx, &api.Job{ID: new("web"), Namespace: new("its")})
		},
		"/v1/job/web/plan",
		map[string]string{"Warnings": "w"},
		`PUT /v1/job/web/plan?namespace=its {"Diff":true,"Job":{"ID":"web","Namespace":"its"}}`, `{"Warnings":"w"}`, `plan job "web@its"`, clusterTime,
	}, {
		"validate", func(ctx context.Context, s *Server) (any, error) { return s.Validate(ctx, &api.Job{ID: new("web")}) },
		"/v1/validate/job",
		api.JobValidateResponse{ValidationErrors: []string{"a", "b"}, Error: "a and b"},
		`PUT /v1/validate/job?namespace=ops {"Job":{"ID":"web"}}`, `["a","b"]`, `validate job "web@ops"`, clusterTime,
	}, {
		"validate, with one fault", func(ctx context.Context, s *Server) (any, error) { return s.Validate(ctx, &api.Job{ID: new("web")}) },
		"/v1/validate/job",
		api.JobValidateResponse{Error: "a"},
		`PUT /v1/validate/job?namespace=ops {"Job":{"ID":"web"}}`, `["a"]`, `validate job "web@ops"`, clusterTime,
	}, {
		"validate, without a fault", func(ctx context.Context, s *Server) (any, error) { return s.Validate(ctx, &api.Job{ID: new("web")}) },
		"/v1/validate/job",
		api.JobValidateResponse{},
		`PUT /v1/validate/job?namespace=ops {"Job":{"ID":"web"}}`, `null`, `validate job "web@ops"`, clusterTime,
	}, {
		"register", func(ctx context.Context, s *Server) (any, error) {
			return s.RegisterAt(ctx, &api.Job{ID: new("web")}, &api.JobSubmission{Source: "text"}, 9)
		},
		"/v1/jobs",
		map[string]string{"EvalID": "e", "Warnings": "w"},
		`PUT /v1/jobs?namespace=ops {"EnforceIndex":true,"Job":{"ID":"web"},"JobModifyIndex":9,"Submission":{"Source":"text"}}`,
		`{"EvalID":"e","Warnings":"w"}`, `register job "web@ops"`, clusterTime,
	}, {
		"deregister", func(ctx context.Context, s *Server) (any, error) {
			return nil, s.Deregister(ctx, "web", api.DeregisterOptions{})
		},
		"/v1/job/web",
		map[string]string{},
		"DELETE /v1/job/web?eval_priority=0&global=false&namespace=ops&no_shutdown_delay=false&purge=false", `null`, `stop job "web@ops"`, clusterTime,
	}, {
		"purge at once", func(ctx context.Context, s *Server) (any, error) {
			return nil, s.Deregister(ctx, "web", api.DeregisterOptions{Purge: true, NoShutdownDelay: true})
		},
		"/v1/job/web",
		map[string]string{},
		"DELETE /v1/job/web?eval_priority=0&global=false&namespace=ops&no_shutdown_delay=true&purge=true", `null`, `stop job "web@ops"`, clusterTime,
	}, {
		"launch", func(ctx context.Context, s *Server) (any, error) { return nil, s.Launch(ctx, "web") },
		"/v1/job/web/periodic/force",
		map[string]string{},
		"PUT /v1/job/web/periodic/force?namespace=ops", `null`, `launch job "web@ops"`, clusterTime,
	}, {
		"restart a task", func(ctx context.Context, s *Server) (any, error) { return nil, onTask(s).Restart(ctx) },
		"/v1/client/allocation/1/restart",
		map[string]string{},
		`PUT /v1/client/allocation/1/restart?namespace=shop {"TaskName":"t"}`, `null`, `restart task "t"`, 0,
	}, {
		"restart an allocation", func(ctx context.Context, s *Server) (any, error) { return nil, onTask(s).RestartAlloc(ctx) },
		"/v1/client/allocation/1/restart",
		map[string]string{},
		`PUT /v1/client/allocation/1/restart?namespace=shop {"AllTasks":true}`, `null`, `restart allocation "web.g[0]"`, 0,
	}, {
		"stop a task", func(ctx context.Context, s *Server) (any, error) { return nil, onTask(s).Stop(ctx) },
		"/v1/client/allocation/1/pause",
		map[string]string{},
		`PUT /v1/client/allocation/1/pause?namespace=shop {"ScheduleState":"pause","Task":"t"}`, `null`, `stop task "t"`, 0,
	}, {
		"start a task", func(ctx context.Context, s *Server) (any, error) { return nil, onTask(s).Start(ctx) },
		"/v1/client/allocation/1/pause",
		map[string]string{},
		`PUT /v1/client/allocation/1/pause?namespace=shop {"ScheduleState":"run","Task":"t"}`, `null`, `start task "t"`, 0,
	}, {
		"signal", func(ctx context.Context, s *Server) (any, error) { return nil, onTask(s).Signal(ctx, "SIGHUP") },
		"/v1/client/allocation/1/signal",
		map[string]string{},
		`PUT /v1/client/allocation/1/signal?namespace=shop {"Signal":"SIGHUP","Task":"t"}`, `null`, `signal task "t"`, 0,
	}, {
		"statistics", func(ctx context.Context, s *Server) (any, error) { return statsOf(ctx, onTask(s)) },
		"/v1/client/allocation/1/stats",
		map[string]any{"Timestamp": 5},
		"GET /v1/client/allocation/1/stats?namespace=shop", `{"Timestamp":5}`, `get the statistics of allocation "web.g[0]"`, clusterTime,
	}, {
		"dispatch", func(ctx context.Context, s *Server) (any, error) {
			return onJob(s).Dispatch(ctx, map[string]string{"a": "b"}, []byte("x"))
		},
		"/v1/job/web/dispatch",
		map[string]string{"DispatchedJobID": "web/1"},
		`PUT /v1/job/web/dispatch?namespace=shop {"JobID":"web","Meta":{"a":"b"},"Payload":"eA=="}`, `"web/1"`, `dispatch job "web@shop"`, clusterTime,
	}, {
		"who an engine is", func(ctx context.Context, s *Server) (any, error) { return s.Self(ctx) },
		"/v1/agent/self",
		api.AgentSelf{Stats: map[string]map[string]string{
			"taskrun": {"pid": "9", "version": "1", "data_dir": "/data"}, "runs": {"web": "/data/web"},
		}},
		"GET /v1/agent/self?namespace=ops", `{"DataDir":"/data","PID":9,"Runs":{"web":"/data/web"},"Version":"1"}`, "get the status", clusterTime,
	}, {
		"stop a job", func(ctx context.Context, s *Server) (any, error) { return nil, s.Stop(ctx, "a/b", Stopping{}) },
		"/v1/job/a/b",
		map[string]string{},
		"DELETE /v1/job/a%2Fb?namespace=ops", `null`, `stop job "a/b@ops"`, clusterTime,
	}, {
		"stop a run", func(ctx context.Context, s *Server) (any, error) {
			return nil, s.Stop(ctx, "a/b", Stopping{Run: "stop", NoShutdownDelay: true})
		},
		"/v1/job/a/b",
		map[string]string{},
		"DELETE /v1/job/a%2Fb?namespace=ops&no_shutdown_delay=true&run=stop", `null`, `stop job "a/b@ops"`, clusterTime,
	}, {
		"kill a run", func(ctx context.Context, s *Server) (any, error) {
			return nil, s.Stop(ctx, "a/b", Stopping{Run: "kill"})
		},
		"/v1/job/a/b",
		map[string]string{},
		"DELETE /v1/job/a%2Fb?namespace=ops&run=kill", `null`, `stop job "a/b@ops"`, clusterTime,
	},
}

// onJob and onTask use a namespace other than the server's.
func onJob(s *Server) *Job {
	return &Job{JobListStub: &api.JobListStub{ID: "web", Namespace: "shop"}, Server: s}
}

func onTask(s *Server) *Task {
	return &Task{
		Server: s, Name: "t", State: &api.TaskState{},
		Alloc: &api.AllocationListStub{ID: "1", Name: "web.g[0]", Namespace: "shop", JobID: "web", TaskGroup: "g"},
	}
}

func answered[T any](answer T, index uint64, err error) ([]any, error) {
	return []any{answer, index}, err
}

// Each request is sent once, in its namespace, and its result is the server's
// response.
func TestRequests(t *testing.T) {
	t.Parallel()
	for _, tt := range everything {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := &nomad{answers: map[string][]any{tt.path: {tt.answer}}}
				result, err := tt.do(t.Context(), n.server(t, ""))
				text, _ := json.Marshal(result)
				var got any
				_ = json.Unmarshal(text, &got)
				if text, _ = json.Marshal(filled(got)); err != nil || string(text) != tt.gets {
					t.Errorf("got %s, %v, want %s", text, err, tt.gets)
				}
				if diff := cmp.Diff([]string{tt.asks}, n.asked); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// An error has the request, the server and the reason; a query without a
// response in time is an error, and an order to a task takes as long as the
// task.
func TestFailedRequests(t *testing.T) {
	t.Parallel()
	for _, tt := range everything {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				refuses := &nomad{code: http.StatusForbidden}
				_, err := tt.do(t.Context(), refuses.server(t, ""))
				if want := "cannot " + tt.doing + " of http://nomad: it answered 403: no"; err == nil || err.Error() != want {
					t.Errorf("error %v, want %s", err, want)
				}
				silent := &nomad{answers: map[string][]any{tt.path: nil}}
				enough := errors.New("enough")
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, enough)
				defer cancel()
				began, limit, why := time.Now(), tt.limit, "no answer within "+tt.limit.String()
				if limit == 0 {
					limit, why = time.Hour, "enough"
				}
				_, err = tt.do(ctx, silent.server(t, ""))
				if want := "cannot " + tt.doing + " of http://nomad: " + why; err == nil || err.Error() != want {
					t.Errorf("error %v, want %s", err, want)
				}
				if took := time.Since(began); took != limit {
					t.Errorf("given up after %v, want %v", took, limit)
				}
			})
		})
	}
}

// An engine of this machine has less time to respond than a cluster, unless the client
// is patient. Then, too, it is noticed at once that the engine has died.
func TestRequestsOfAnEngine(t *testing.T) {
	t.Parallel()
	for patient, limit := range map[bool]time.Duration{false: localTime, true: time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			n := &nomad{answers: map[string][]any{"/v1/agent/self": nil}}
			s, began := n.server(t, "/run/web.sock"), time.Now()
			s.Patient = patient
			_, err := s.Self(t.Context())
			if want := fmt.Sprintf("cannot get the status of run web: no answer within %v", limit); err == nil || err.Error() != want || time.Since(began) != limit {
				t.Errorf("error %v after %v", err, time.Since(began))
			}
			n.dies, began = 2, time.Now()
			if _, err := s.Self(t.Context()); !s.Died(err) || time.Since(began) != 0 {
				t.Errorf("it has died: error %v after %v", err, time.Since(began))
			}
		})
	}
}

// Queries and idempotent orders are repeated with the engine that replaces one
// that died. It may have other indexes, so queries start without one.
func TestRequestsToADyingEngine(t *testing.T) {
	t.Parallel()
	again := []string{"scale", "update", "stop a job", "stop a run", "kill a run"}
	for _, tt := range everything {
		n := &nomad{dies: 1, answers: map[string][]any{tt.path: {tt.answer}}}
		s := n.server(t, "/run/web.sock")
		s.Back = func(context.Context) bool { return true }
		_, err := tt.do(t.Context(), s)
		want := []string{tt.asks}
		if strings.HasPrefix(tt.asks, "GET") || slices.Contains(again, tt.name) {
			want = append(want, strings.NewReplacer("index=5&", "", "&wait=45000ms", "").Replace(tt.asks))
		}
		if diff := cmp.Diff(want, n.asked); diff != "" || (err == nil) != (len(want) == 2) {
			t.Errorf("%s: %v, %s", tt.name, err, diff)
		}
	}
}

// Actions are requested once for each job, and each task has its own.
func TestActions(t *testing.T) {
	t.Parallel()
	job := func(id string) []any {
		return []any{api.Job{ID: &id, TaskGroups: []*api.TaskGroup{
			{Name: new("a"), Tasks: []*api.Task{{Name: "x", Actions: []*api.Action{{Name: id + "-ax"}}}, {Name: "y"}, {Name: "z", Actions: []*api.Action{{Name: id + "-az"}}}}},
			{Name: new("b"), Tasks: []*api.Task{{Name: "x", Actions: []*api.Action{{Name: id + "-bx1"}, {Name: id + "-bx2"}}}}},
		}}}
	}
	n := &nomad{answers: map[string][]any{"/v1/job/j": job("j"), "/v1/job/k": job("k")}}
	s := n.server(t, "")
	var tasks []*Task
	for _, of := range []string{"j a x", "j a y", "j a z", "k b x", "j c x", "j b z"} {
		f := strings.Fields(of)
		tasks = append(tasks, &Task{Server: s, Name: f[2], Alloc: &api.AllocationListStub{JobID: f[0], TaskGroup: f[1]}})
	}
	actions, err := Actions(t.Context(), tasks)
	var got []string
	for _, a := range actions {
		got = append(got, a.Task.Alloc.TaskGroup+" "+a.Task.Name+" "+a.Name)
	}
	if want := []string{"a x j-ax", "a z j-az", "b x k-bx1", "b x k-bx2"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("actions %q, %v, want %q", got, err, want)
	}
	if len(n.asked) != 2 {
		t.Errorf("asked %q", n.asked)
	}
}

// Statistics of tasks are requested by allocation; failures are reported, and
// the number of concurrent requests is limited.
func TestStats(t *testing.T) {
	t.Parallel()
	usage := func(names ...string) []any {
		tasks := map[string]*api.TaskResourceUsage{}
		for _, name := range names {
			tasks[name] = &api.TaskResourceUsage{ResourceUsage: &api.ResourceUsage{MemoryStats: &api.MemoryStats{RSS: 7}}}
		}
		tasks["none"] = &api.TaskResourceUsage{}
		return []any{api.AllocResourceUsage{Tasks: tasks}}
	}
	n := &nomad{code: http.StatusForbidden, answers: map[string][]any{
		"/v1/client/allocation/1/stats": usage("a", "b"), "/v1/client/allocation/2/stats": usage("b"),
	}}
	s := n.server(t, "")
	task := func(alloc, name string) *Task {
		return &Task{Server: s, Name: name, Alloc: &api.AllocationListStub{ID: alloc, Name: "web.g[" + alloc + "]"}}
	}
	tasks := []*Task{task("1", "a"), task("1", "none"), task("1", "ended"), task("3", "a"), task("2", "b"), task("1", "b")}
	used, failed := Stats(t.Context(), tasks)
	for i, task := range tasks {
		if (used[task] != nil) != slices.Contains([]int{0, 4, 5}, i) {
			t.Errorf("task %d: %v", i, used[task])
		}
	}
	if len(used) != 3 || len(n.asked) != 3 {
		t.Errorf("%d have statistics, asked %q", len(used), n.asked)
	}
	if len(failed) != 1 || !strings.Contains(failed[0].Error(), "web.g[3]") {
		t.Errorf("failed %v", failed)
	}
	synctest.Test(t, func(t *testing.T) {
		n := &nomad{answers: map[string][]any{"/v1/client/allocation/x/stats": nil}}
		s, many := n.server(t, ""), []*Task(nil)
		for i := range statsAsked + 1 {
			id := string(rune('a' + i))
			n.answers["/v1/client/allocation/"+id+"/stats"] = nil
			many = append(many, &Task{Server: s, Alloc: &api.AllocationListStub{ID: id}})
		}
		ended := make(chan struct{})
		go func() {
			_, failed = Stats(t.Context(), many)
			close(ended)
		}()
		synctest.Wait()
		n.mu.Lock()
		if len(n.asked) != statsAsked {
			t.Errorf("%d are asked at once", len(n.asked))
		}
		n.mu.Unlock()
		<-ended
		if len(n.asked) != len(many) || len(failed) != len(many) {
			t.Errorf("asked %d, %d failed", len(n.asked), len(failed))
		}
	})
}

// Services are those of all namespaces, each requested separately, now or after
// a change.
func TestServices(t *testing.T) {
	t.Parallel()
	stubs := []*api.ServiceRegistrationListStub{
		{Namespace: "a", Services: []*api.ServiceRegistrationStub{{ServiceName: "x"}, {ServiceName: "y"}}},
		{Namespace: "b", Services: []*api.ServiceRegistrationStub{{ServiceName: "x"}}},
	}
	service := func(id string) []api.ServiceRegistration { return []api.ServiceRegistration{{ID: id}} }
	for _, tt := range []struct {
		after uint64
		asks  string
		limit time.Duration // of an engine
	}{
		{0, "GET /v1/services?namespace=%2A", localTime},
		{5, "GET /v1/services?index=5&namespace=%2A&wait=45000ms", time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := &nomad{code: http.StatusForbidden, answers: map[string][]any{
				"/v1/services": {stubs, stubs}, "/v1/service/x": {service("ax"), service("bx")}, "/v1/service/y": {service("ay")},
			}}
			s := n.server(t, "/run/web.sock")
			list, index, err := s.Services(t.Context(), tt.after)
			var ids []string
			for _, service := range list {
				ids = append(ids, service.ID)
			}
			if err != nil || index != 7 || !slices.Equal(ids, []string{"ax", "ay", "bx"}) {
				t.Errorf("services %q at %d, %v", ids, index, err)
			}
			if diff := cmp.Diff([]string{tt.asks, "GET /v1/service/x?namespace=a", "GET /v1/service/y?namespace=a", "GET /v1/service/x?namespace=b"}, n.asked); diff != "" {
				t.Error(diff)
			}
			delete(n.answers, "/v1/service/x")
			_, _, one := s.Services(t.Context(), tt.after)
			began := time.Now()
			_, _, silent := s.Services(t.Context(), tt.after)
			if took := time.Since(began); took != tt.limit {
				t.Errorf("silence is taken for %v", took)
			}
			delete(n.answers, "/v1/services")
			_, _, all := s.Services(t.Context(), tt.after)
			for _, err := range []error{one, silent, all} {
				if err == nil || !strings.HasPrefix(err.Error(), "cannot list the services of run web: ") {
					t.Errorf("error %v", err)
				}
			}
		})
	}
}
