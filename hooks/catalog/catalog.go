// Package catalog lists the hooks of taskrun in the order of their calls, which
// is that of Nomad's client.
package catalog

import (
	"taskrun/drivers"
	"taskrun/engine/leaf/service"
	"taskrun/engine/leaf/workload"
	"taskrun/hooks"
	"taskrun/hooks/allocdir"
	"taskrun/hooks/artifact"
	"taskrun/hooks/consul"
	"taskrun/hooks/csiplugin"
	"taskrun/hooks/dispatchpayload"
	"taskrun/hooks/environment"
	"taskrun/hooks/identity"
	"taskrun/hooks/logmon"
	"taskrun/hooks/mesh"
	"taskrun/hooks/migratedisk"
	"taskrun/hooks/network"
	"taskrun/hooks/reach"
	"taskrun/hooks/secrets"
	"taskrun/hooks/services"
	"taskrun/hooks/stubs"
	"taskrun/hooks/taskapi"
	"taskrun/hooks/taskdir"
	"taskrun/hooks/template"
	"taskrun/hooks/vault"
	"taskrun/hooks/volumes"
	"taskrun/jobspec/stub"
)

// Options configure the hooks.
type Options struct {
	DataDir string // the engine's data directory
	// HostVolume returns the stub of a host volume, a folder, by the volume's
	// source. It is nil without such stubs.
	HostVolume func(source string) (path string, readOnly, ok bool)
	// Stubs are the stubs of Nomad variables, Consul and Vault, or nil.
	Stubs template.Stubs
	// Services is where services are registered. nil: in a new catalog.
	Services *service.Catalog
	// Elsewhere returns services of other engines, see Known.
	Elsewhere func() []*service.Instance
	// Keys sign the tokens of workload identities. nil: new keys.
	Keys *workload.Keyring
	// TaskAPI serves the task API at a task's socket. nil: tasks have no
	// socket.
	TaskAPI taskapi.Serve
	// Unprobed makes the checks of services pass without running them.
	Unprobed bool
	// Answer, if it is set, returns the result of each probe instead of carrying it
	// out.
	Answer services.Answer
	// Offline: no artifact is downloaded.
	Offline bool
	// Drivers tell where tasks in networks of their own reach this machine. nil:
	// there are no such tasks.
	Drivers map[string]drivers.Driver
	// Unsourced: files that templates name as their source may be missing.
	Unsourced bool
	// Environment: the environments of tasks are kept with the run.
	Environment bool
	// Given are values from outside of the job file, which may be secrets.
	Given []string
}

// New returns the hooks.
func New(opts Options) hooks.Catalog {
	if opts.Stubs == nil {
		opts.Stubs = stubs.New(stub.None(), nil, nil)
	}
	if opts.Services == nil {
		opts.Services = &service.Catalog{}
	}
	offered := services.New(services.Config{Catalog: opts.Services, Unprobed: opts.Unprobed, Answer: opts.Answer})
	views := reach.New(reach.Of(opts.Drivers))
	download := artifact.New(artifact.Config{})
	if opts.Offline {
		download = none
	}
	if opts.Keys == nil {
		opts.Keys = workload.NewKeyring()
	}
	api := none
	if opts.TaskAPI != nil {
		api = taskapi.New(opts.TaskAPI)
	}
	kept := none
	if opts.Environment {
		kept = environment.New(opts.Given)
	}
	token := func() string { return opts.Stubs.Set().ConsulToken }
	all := known{opts.Services, opts.Elsewhere}
	forwards := mesh.New(mesh.Config{
		Catalog: opts.Services, Idle: opts.Unprobed || opts.Answer != nil,
		Healthy: func(namespace, name string) []*service.Instance {
			return all.healthy(opts.Stubs.Set(), namespace, name)
		},
	})
	return hooks.Catalog{
		Alloc: []hooks.AllocFactory{allocdir.New, migratedisk.New, network.New, views.Alloc, forwards.Alloc, offered.Alloc},
		Task: []hooks.TaskFactory{
			taskdir.New,
			views.Task,
			identity.New(opts.Keys).Task,
			consul.New(token),
			consul.NewNative(token, views.View),
			vault.New(func() string { return opts.Stubs.Set().VaultToken }),
			secrets.New(opts.Stubs.Set),
			logmon.New,
			dispatchpayload.New,
			volumes.New(volumes.Config{DataDir: opts.DataDir, Stub: opts.HostVolume}),
			download,
			api,
			csiplugin.New,
			template.New(template.Config{Stubs: opts.Stubs, Services: all, View: views.View, Unsourced: opts.Unsourced}),
			offered.Task,
			kept,
		},
	}
}

func none(hooks.Task) hooks.TaskHook { return nil }
