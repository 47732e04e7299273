package stub

import (
	"cmp"
	"fmt"
	"path/filepath"
	"time"

	"taskrun/jobspec"
)

// services reads the services that run elsewhere.
func (p *parser) services(forms []*serviceForm) {
	for _, f := range forms {
		switch f.Provider {
		case "", "nomad", "consul":
		default:
			p.refuse(f.Block.At("provider"), fmt.Sprintf("unknown provider %q", f.Provider), "", `write "nomad" or "consul", or leave it out for both`)
		}
		if f.Block.Has("port") && (f.Port < 1 || f.Port > 65535) && !p.isRefused(f.Block.At("port")) {
			p.refuse(f.Block.At("port"), "invalid port", fmt.Sprintf("%d is not between 1 and 65535", f.Port), fmt.Sprintf("write the port, or TODO(%q, 1) for a rehearsal", f.Name))
		}
		p.set.Services = append(p.set.Services, Service{
			Name: f.Name, Provider: f.Provider, Namespace: f.Namespace,
			Address: cmp.Or(f.Address, "127.0.0.1"), Port: f.Port, Tags: f.Tags, Meta: f.Meta,
			Placeholder: p.hasTodo(f.Block.Header),
		})
	}
}

// volumes reads the directories for host volumes.
func (p *parser) volumes(forms []*volumeForm) {
	p.set.HostVolumes = map[string]HostVolume{}
	for _, f := range forms {
		if _, again := p.set.HostVolumes[f.Name]; again {
			p.twice(f.Block, "host_volume", f.Name)
		}
		path := f.Path
		if path == "" && f.Block.Has("path") && !p.isRefused(f.Block.At("path")) {
			p.refuse(f.Block.At("path"), fmt.Sprintf("the path of host volume %q is empty", f.Name),
				"it would be the folder of this file", `write the directory, or TODO("path") for a rehearsal`)
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(p.dir, path)
		}
		p.set.HostVolumes[f.Name] = HostVolume{path, f.ReadOnly, p.hasTodo(f.Block.Header)}
	}
}

// overrides reads the task blocks.
func (p *parser) overrides(forms []*taskForm) {
	for _, f := range forms {
		p.set.Tasks = append(p.set.Tasks, Task{
			Target: f.Target, Driver: f.Driver, User: f.User, Config: f.Config, Env: f.Env, Rehearsal: p.rehearsal(f.Rehearse),
			Resources: f.Resources, Watches: p.watches(f.Watches),
			At: jobspec.RangeOf(f.Block.Header),
		})
	}
}

// rehearsal reads a rehearse block.
func (p *parser) rehearsal(f *rehearseForm) *Rehearsal {
	if f == nil {
		return nil
	}
	r := &Rehearsal{ExitCode: f.ExitCode}
	if f.Block.Has("run_for") {
		var err error
		if r.RunFor, err = time.ParseDuration(f.RunFor); err != nil || r.RunFor < 0 {
			p.refuse(f.Block.At("run_for"), "invalid duration", "", `write one such as "2s" or "1m30s"`)
		}
	}
	if f.ExitCode < 0 || f.ExitCode > 255 {
		p.refuse(f.Block.At("exit_code"), "invalid exit code", fmt.Sprintf("%d is not between 0 and 255", f.ExitCode), "")
	}
	return r
}
