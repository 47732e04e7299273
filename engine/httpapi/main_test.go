package httpapi_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
	"go.uber.org/goleak"

	"taskrun/drivers"
	"taskrun/drivers/mock"
	"taskrun/engine"
	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/service"
	"taskrun/engine/leaf/variable"
	"taskrun/engine/leaf/workload"
	"taskrun/hooks/catalog"
	"taskrun/hooks/stubs"
	"taskrun/jobspec"
	"taskrun/jobspec/placement"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
	"taskrun/jobspec/validate"
)

// descriptors is how many files the tests may have open. A listener accepts an
// eighth of that. The floods of parallel tests need both ends of six times as many
// connections as that.
const descriptors = 12_000

func TestMain(m *testing.M) {
	syscall.Umask(0o022) // some tests compare modes
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	if limit.Cur = min(limit.Cur, descriptors); err == nil {
		err = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)
	}
	if err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// patience limits every wait of a test.
const patience = time.Minute

const nodeID = "0f3c1c4e-6b7e-8d0e-9d55-1f0a2e5b7c11"

// fakeDriver is the mock driver with commands defined by the test.
type fakeDriver struct {
	drivers.Driver
	exec func(context.Context, *drivers.ExecOptions) (*drivers.ExitResult, error)
	uses *drivers.TaskResourceUsage // usage of every task
}

func (d *fakeDriver) TaskStats(context.Context, string, time.Duration) (<-chan *drivers.TaskResourceUsage, error) {
	ch := make(chan *drivers.TaskResourceUsage, 1)
	if d.uses != nil {
		ch <- d.uses
	}
	close(ch)
	return ch, nil
}

func (d *fakeDriver) ExecTaskStreaming(ctx context.Context, _ string, opts *drivers.ExecOptions) (*drivers.ExitResult, error) {
	return d.exec(ctx, opts)
}

func (d *fakeDriver) SignalTask(id, signal string) error {
	return d.Driver.(drivers.Signaler).SignalTask(id, signal)
}

// fixture is a server of a running engine, on a socket.
type fixture struct {
	testing.TB
	engine *engine.Engine
	server *httpapi.Server
	path   string
	client *api.Client
	http   *http.Client
	driver *fakeDriver
	events *event.Subscription
	keys   *workload.Keyring
}

// rules is a preflight with Nomad's rules only.
func rules(node *taskenv.Node) func(httpapi.Order, *api.Job) jobspec.Diagnostics {
	return func(order httpapi.Order, job *api.Job) jobspec.Diagnostics {
		if order == httpapi.OrderDispatch {
			return nil
		}
		job.Canonicalize()
		jobspec.Register(job)
		limits := placement.IgnoredMemoryMax(job, node)
		for i := range limits {
			limits[i].Summary += ". Update the Scheduler Configuration to allow oversubscription."
		}
		return slices.Concat(validate.Job(job, nil), validate.Allocations(job, 10_000), limits)
	}
}

// serve runs jobs and serves them.
func serve(t testing.TB, jobs ...*api.Job) *fixture {
	t.Helper()
	return serveWith(t, func(*httpapi.Config) {}, jobs...)
}

// serveWith is serve with another config.
func serveWith(t testing.TB, change func(*httpapi.Config), jobs ...*api.Job) *fixture {
	t.Helper()
	f := serveEngine(t, func(*engine.Config) {}, change)
	if len(jobs) > 0 {
		if err := f.engine.Submit(jobs...); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// serveResident serves a resident engine that has no jobs yet.
func serveResident(t testing.TB) *fixture {
	t.Helper()
	dataDir := t.TempDir()
	f := serveEngine(t, func(cfg *engine.Config) {
		cfg.Resident, cfg.DataDir, cfg.StateDir = true, dataDir, filepath.Join(dataDir, "agent")
	}, func(cfg *httpapi.Config) { cfg.DataDir = dataDir })
	if err := f.engine.Recover(); err != nil {
		t.Fatal(err)
	}
	return f
}

// serveEngine serves an engine that has not begun.
func serveEngine(t testing.TB, configure func(*engine.Config), change func(*httpapi.Config)) *fixture {
	t.Helper()
	f := &fixture{TB: t, driver: &fakeDriver{Driver: mock.New()}}
	services, variables := &service.Catalog{}, &variable.Store{}
	node := &taskenv.Node{ID: nodeID, Name: "vm", Pool: "default", Datacenter: "dc1", Region: "global"}
	settings := engine.Config{
		DataDir: t.TempDir(), Hooks: catalog.New(catalog.Options{Services: services, Stubs: stubs.New(stub.None(), variables, nil)}),
		Services: services, Variables: variables, Node: node,
		Drivers: map[string]drivers.Driver{"mock_driver": f.driver, "raw_exec": f.driver},
	}
	cfg := httpapi.Config{Node: node, Version: "1.2.3", Preflight: rules(node), Keys: workload.NewKeyring()}
	change(&cfg)
	f.keys = cfg.Keys
	configure(&settings)
	f.engine = engine.New(settings)
	f.server = httpapi.New(f.engine, cfg)
	l, path, err := httpapi.Listen(socketDir(t), "job-1")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- f.server.Serve(l) }()
	f.path = path
	f.http = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}}
	if f.client, err = api.NewClient(&api.Config{Address: "unix://" + path}); err != nil {
		t.Fatal(err)
	}
	f.events = f.engine.Subscribe(false)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := f.engine.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := f.server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		f.events.Close()
		f.client.Close()
		f.http.CloseIdleConnections()
	})
	return f
}

// socketDir returns a directory with a short path, unlike t.TempDir.
func socketDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "taskrun") //nolint:usetesting // too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// until waits for an event.
func (f *fixture) until(happened func(event.Event) bool) event.Event {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), patience)
	defer cancel()
	for {
		e, ok := f.events.Next(ctx)
		if !ok {
			f.Fatal("it did not happen")
		}
		if happened(e) {
			return e
		}
	}
}

// running waits until a task runs, and returns its allocation.
func (f *fixture) running(task string) *event.Alloc { f.Helper(); return f.in(task, "running") }

func (f *fixture) in(task, state string) *event.Alloc {
	f.Helper()
	return f.until(func(e event.Event) bool {
		s, ok := e.Body.(event.TaskState)
		return ok && e.Task == task && s.State == state
	}).Alloc
}

// alloc returns an allocation as a client sees it.
func (f *fixture) alloc(id string) *api.Allocation {
	f.Helper()
	a, _, err := f.client.Allocations().Info(id, nil)
	if err != nil {
		f.Fatal(err)
	}
	return a
}

// evaluation returns the evaluation that placed an allocation, once the server
// knows it.
func (f *fixture) evaluation(alloc string) string {
	f.Helper()
	for index := uint64(0); ; {
		a, meta, err := f.client.Allocations().Info(alloc, &api.QueryOptions{WaitIndex: index, WaitTime: patience})
		if err != nil || index > 0 && meta.LastIndex == index {
			f.Fatalf("at index %d there is none: %v", index, err)
		}
		if a.EvalID != "" {
			return a.EvalID
		}
		index = meta.LastIndex
	}
}

// answer is an HTTP response whose body is closed at the end of the test.
type answer struct {
	StatusCode int
	Header     http.Header
	Body       io.ReadCloser
}

// do sends a request; header has alternating names and values.
func (f *fixture) do(method, path string, body io.Reader, header ...string) *answer {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), patience)
	f.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, method, "http://127.0.0.1"+path, body)
	if err != nil {
		f.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := f.http.Do(r)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = resp.Body.Close() })
	return &answer{resp.StatusCode, resp.Header, resp.Body}
}

// get returns the response to a GET request.
func get[T any](f *fixture, path string) T {
	f.Helper()
	return follow(f, path, func(T) bool { return true })
}

// follow repeats a GET request as a blocking query until enough accepts the
// response.
func follow[T any](f *fixture, path string, enough func(T) bool) (v T) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), patience)
	defer cancel()
	for index := uint64(0); ; {
		var now T
		meta, err := f.client.Raw().Query(path, &now, (&api.QueryOptions{WaitIndex: index}).WithContext(ctx))
		if err != nil {
			f.Fatalf("GET %s: %v, last %+v", path, err, v)
		}
		if enough(now) {
			return now
		}
		v, index = now, meta.LastIndex
	}
}

// newJob returns a canonical job with one group, g, and these tasks.
func newJob(id, jobType string, tasks ...*api.Task) *api.Job {
	g := api.NewTaskGroup("g", 1)
	g.Tasks = tasks
	g.ReschedulePolicy = &api.ReschedulePolicy{Attempts: new(0), Unlimited: new(false)}
	job := &api.Job{ID: &id, Type: &jobType, TaskGroups: []*api.TaskGroup{g}}
	job.Canonicalize()
	jobspec.Register(job)
	return job
}

// newTask returns a task for the mock driver. config has alternating names and
// values of the mock driver's options.
func newTask(name string, config ...any) *api.Task {
	t := api.NewTask(name, "mock_driver")
	t.Config = map[string]any{}
	for i := 0; i < len(config); i += 2 {
		t.Config[config[i].(string)] = config[i+1]
	}
	t.RestartPolicy = &api.RestartPolicy{Attempts: new(0), Mode: new("fail")}
	return t
}

func readAll(t *testing.T, r io.Reader) string {
	t.Helper()
	body, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func readFile(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}
