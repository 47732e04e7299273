package catalog_test

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/allocdir"
	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/service"
	"taskrun/engine/leaf/variable"
	"taskrun/hooks"
	"taskrun/hooks/catalog"
	"taskrun/hooks/stubs"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
)

// demanding returns a job whose task needs every hook.
func demanding() *api.Job {
	job := &api.Job{ID: new("job"), Type: new("batch"), Payload: []byte("payload"), TaskGroups: []*api.TaskGroup{{
		Name: new("g"), EphemeralDisk: &api.EphemeralDisk{Sticky: new(true)},
		Networks: []*api.NetworkResource{{Mode: "bridge"}},
		Services: []*api.Service{{Name: "of-group", Provider: "nomad"}},
		Volumes:  map[string]*api.VolumeRequest{"v": {Name: "v", Type: "host", Source: "v"}},
		Tasks: []*api.Task{{
			Name: "t", Driver: "mock_driver", Vault: &api.Vault{}, Consul: &api.Consul{}, DispatchPayload: &api.DispatchPayloadConfig{File: "in"},
			Identities:   []*api.WorkloadIdentity{{Name: "extra", Env: true}},
			Secrets:      []*api.Secret{{Name: "s", Provider: "nomad", Path: "p"}},
			VolumeMounts: []*api.VolumeMount{{Volume: new("v"), Destination: new("/v")}},
			Artifacts:    []*api.TaskArtifact{{GetterSource: new("https://example.com/x")}},
			Templates:    []*api.Template{{EmbeddedTmpl: new("x"), DestPath: new("local/x")}},
			Services:     []*api.Service{{Name: "of-task", Provider: "nomad"}},

			CSIPluginConfig: &api.TaskCSIPluginConfig{ID: "p", Type: api.CSIPluginTypeNode},
		}},
	}}}
	job.Canonicalize()
	return job
}

// modest returns a job whose task needs the hooks that every task has.
func modest() *api.Job {
	job := &api.Job{ID: new("job"), Type: new("batch"), TaskGroups: []*api.TaskGroup{{
		Name: new("g"), Tasks: []*api.Task{{Name: "t", Driver: "mock_driver"}},
	}}}
	job.Canonicalize()
	return job
}

// names returns the names of the hooks of an allocation and of its task.
func names(t *testing.T, opts catalog.Options, job *api.Job) (alloc, task []string) {
	t.Helper()
	c, g, dir := catalog.New(opts), job.TaskGroups[0], allocdir.At(t.TempDir())
	t.Cleanup(func() { _ = dir.Close() })
	a := hooks.Alloc{Alloc: &event.Alloc{ID: "id"}, Job: job, Group: g, Dir: dir, AllocDir: dir.Path(), Network: network{}}
	if g.EphemeralDisk != nil && *g.EphemeralDisk.Sticky {
		a.Sticky = filepath.Join(t.TempDir(), "link")
	}
	for _, factory := range c.Alloc {
		if h := factory(a); h != nil {
			alloc = append(alloc, h.Name())
		}
	}
	for _, factory := range c.Task {
		if h := factory(hooks.Task{Alloc: a.Alloc, Job: job, Group: g, Task: g.Tasks[0], Dir: dir, AllocDir: dir.Path()}); h != nil {
			task = append(task, h.Name())
		}
	}
	return alloc, task
}

type network struct{ drivers.NetworkManager }

// The hooks have the names and the order of those of Nomad's client, and hooks
// that a task does not need are omitted.
func TestOrder(t *testing.T) {
	t.Parallel()
	serve := func(net.Listener) {}
	for name, tt := range map[string]struct {
		opts        catalog.Options
		job         *api.Job
		alloc, task []string
	}{
		"all": {
			catalog.Options{TaskAPI: serve},
			demanding(),
			[]string{"alloc_dir", "migrate_disk", "network", "group_services"},
			[]string{
				"task_dir", "identity", "consul_task", "vault", "secrets", "logmon", "dispatch_payload", "volumes", "artifacts", "api",
				"csi_plugin_supervisor", "template", "services",
			},
		},
		"offline, without a task API": {
			catalog.Options{Offline: true},
			demanding(),
			[]string{"alloc_dir", "migrate_disk", "network", "group_services"},
			[]string{
				"task_dir", "identity", "consul_task", "vault", "secrets", "logmon", "dispatch_payload", "volumes",
				"csi_plugin_supervisor", "template", "services",
			},
		},
		"with kept environments": {
			catalog.Options{Environment: true}, modest(), []string{"alloc_dir", "group_services"}, []string{"task_dir", "logmon", "services", "environment"},
		},
		"few": {catalog.Options{}, modest(), []string{"alloc_dir", "group_services"}, []string{"task_dir", "logmon", "services"}},
	} {
		alloc, task := names(t, tt.opts, tt.job)
		if diff := cmp.Diff(tt.alloc, alloc); diff != "" {
			t.Errorf("%s: allocation (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(tt.task, task); diff != "" {
			t.Errorf("%s: task (-want +got):\n%s", name, diff)
		}
	}
}

// A task gets the tokens of the stubs, and none without stubs; its services are
// in the given catalog.
func TestStubsReachTasks(t *testing.T) {
	t.Parallel()
	values := stub.None()
	values.ConsulToken, values.VaultToken = "consul's", "vault's"
	for name, tt := range map[string]struct {
		defined       bool
		consul, vault string
	}{"stubs": {true, "consul's", "vault's"}, "none": {false, stub.None().ConsulToken, stub.None().VaultToken}} {
		var opts catalog.Options
		if tt.defined {
			opts.Stubs = stubs.New(values, &variable.Store{}, nil)
		}
		dir, job := allocdir.At(t.TempDir()), modest()
		defer dir.Close()
		task := job.TaskGroups[0].Tasks[0]
		task.Vault, task.Consul = &api.Vault{}, &api.Consul{}
		if err := dir.Build(); err != nil {
			t.Fatal(err)
		}
		consul, vault := "", ""
		for _, factory := range catalog.New(opts).Task {
			h := factory(hooks.Task{
				Alloc: &event.Alloc{ID: "id"}, Job: job, Group: job.TaskGroups[0], Task: task, Dir: dir, AllocDir: dir.Path(), Emit: func(*api.TaskEvent) {},
			})
			if h == nil || h.Name() != "task_dir" && h.Name() != "consul_task" && h.Name() != "vault" {
				continue
			}
			var resp hooks.PrestartResponse
			if err := h.(hooks.TaskPrestart).Prestart(t.Context(), &hooks.PrestartRequest{}, &resp); err != nil {
				t.Fatal(err)
			}
			consul, vault = consul+resp.Env["CONSUL_TOKEN"], vault+resp.VaultToken
		}
		if consul != tt.consul || vault != tt.vault {
			t.Errorf("%s: consul %q, vault %q", name, consul, vault)
		}
	}
}

// Services are registered in the catalog of the options, and their checks pass
// without being run if the options say so.
func TestServices(t *testing.T) {
	t.Parallel()
	for _, unprobed := range []bool{false, true} {
		var services service.Catalog
		job := modest()
		g := job.TaskGroups[0]
		g.Services = []*api.Service{{Name: "web", Provider: "nomad", PortLabel: "1", Address: "127.0.0.1", Checks: []api.ServiceCheck{{
			Name: "alive", Type: "tcp", Interval: 1e9, Timeout: 1e9,
		}}}}
		job.Canonicalize()
		status := make(chan string, 10)
		a := hooks.Alloc{
			Alloc: &event.Alloc{ID: "id"}, Job: job, Group: g, Node: &taskenv.Node{}, ChecksPass: func(bool) {},
			Isolation: func() *drivers.NetworkIsolation { return nil },
			Env:       func() *taskenv.Env { return taskenv.NewBuilder(nil, taskenv.AllocInfo{}, nil, g, nil).Build() },
			Publish: func(_ time.Time, body event.Body) {
				if c, ok := body.(event.Check); ok {
					status <- c.Status
				}
			},
		}
		made := catalog.New(catalog.Options{Services: &services, Unprobed: unprobed})
		group := made.Alloc[len(made.Alloc)-1](a)
		if err := group.(hooks.AllocPrerun).Prerun(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(services.Services(service.Named("web"))) != 1 {
			t.Error("it is not registered")
		}
		for _, hook := range made.Task {
			task, ok := hook(hooks.Task{Alloc: a.Alloc, Job: job, Group: g, Task: g.Tasks[0]}).(hooks.TaskPoststart)
			if !ok {
				continue
			}
			if err := task.Poststart(t.Context(), &hooks.PoststartRequest{Env: a.Env()}); err != nil {
				t.Fatal(err)
			}
		}
		want := []string{"pending", map[bool]string{false: "failure", true: "success"}[unprobed]}
		if got := []string{<-status, <-status}; !cmp.Equal(want, got) {
			t.Errorf("unprobed %v: the check was %q", unprobed, got)
		}
		if err := group.(hooks.AllocPostrun).Postrun(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
