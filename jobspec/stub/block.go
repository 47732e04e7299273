package stub

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"taskrun/jobspec"
	"taskrun/jobspec/artifact"
	"taskrun/jobspec/glob"
)

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
		s := f.Service
		s.Address, s.Placeholder = cmp.Or(s.Address, "127.0.0.1"), p.hasTodo(f.Block.Header)
		p.set.Services = append(p.set.Services, s)
	}
}

func (p *parser) volumes(forms []*volumeForm) {
	p.set.HostVolumes = map[string]HostVolume{}
	for _, f := range forms {
		if _, again := p.set.HostVolumes[f.Name]; again {
			p.twice(f.Block, "host_volume", f.Name)
		}
		v := f.HostVolume
		if v.Path == "" && f.Block.Has("path") && !p.isRefused(f.Block.At("path")) {
			p.refuse(f.Block.At("path"), fmt.Sprintf("the path of host volume %q is empty", f.Name),
				"it would be the folder of this file", `write the directory, or TODO("path") for a rehearsal`)
		}
		if !filepath.IsAbs(v.Path) {
			v.Path = filepath.Join(p.dir, v.Path)
		}
		v.Placeholder = p.hasTodo(f.Block.Header)
		p.set.HostVolumes[f.Name] = v
	}
}

func (p *parser) artifacts(forms []*artifactForm) {
	for _, f := range forms {
		a := f.Artifact
		a.At = jobspec.RangeOf(f.Block.Header)
		if f.Options != nil {
			a.Options = p.texts(f.Options.Body)
		}
		if f.Headers != nil {
			a.Headers = p.texts(f.Headers.Body)
		}
		if a.Source == "" && f.Block.Has("source") && !p.isRefused(f.Block.At("source")) {
			p.refuse(f.Block.At("source"), "the source is empty", "", `write a URL or a path, or TODO("source") for a rehearsal`)
		}
		if !strings.Contains(a.Source, ":") && !filepath.IsAbs(a.Source) && artifact.Kind(a.Source) == artifact.File && a.Source != "" {
			a.Source = filepath.Join(p.dir, a.Source)
		}
		if slices.ContainsFunc(p.set.Artifacts, func(other Artifact) bool { return other.Label == a.Label }) {
			p.twice(f.Block, "artifact", a.Label)
		}
		p.set.Artifacts = append(p.set.Artifacts, a)
	}
}

func (p *parser) groups(forms []*groupForm) {
	for _, f := range forms {
		g := f.Group
		g.At = jobspec.RangeOf(f.Block.Header)
		if g.Count != nil && *g.Count < 0 {
			p.refuse(f.Block.At("count"), "invalid count", fmt.Sprintf("%d is negative", *g.Count), "")
		}
		for _, c := range f.Constraints {
			c.LTarget = c.Attribute
			g.Constraints = append(g.Constraints, Constraint{c.Constraint, jobspec.RangeOf(c.Block.Header)})
		}
		for _, port := range f.Ports {
			for name, n := range map[string]*int{"static": port.Static, "to": port.To} {
				if n != nil && (*n < 0 && (name != "to" || *n != -1) || *n > 65535) {
					p.refuse(port.Block.At(name), "invalid port", fmt.Sprintf("%d is not between 0 and 65535", *n), "")
				}
			}
			port.At = jobspec.RangeOf(port.Block.Header)
			g.Ports = append(g.Ports, port.Port)
		}
		p.set.Groups = append(p.set.Groups, g)
	}
}

func (p *parser) tasks(forms []*taskForm) {
	for _, f := range forms {
		t := f.Task
		t.Rehearsal, t.Watches, t.At = p.rehearsal(f.Rehearse), p.watches(f.Watches), jobspec.RangeOf(f.Block.Header)
		p.set.Tasks = append(p.set.Tasks, t)
	}
}

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

func (p *parser) watches(forms []*watchForm) (list []Watch) {
	for _, f := range forms {
		w := f.Watch
		w.Dir, w.At, w.Change = p.dir, jobspec.RangeOf(f.Block.Header), cmp.Or(f.Change, ChangeRestart)
		switch w.Change {
		case ChangeRestart, ChangeNoop:
			if w.Signal != "" {
				p.refuse(f.Block.At("change_signal"), "change_signal has no effect", fmt.Sprintf("on_change is %q", w.Change), `write on_change = "signal", or remove it`)
			}
		case ChangeSignal:
			if w.Signal == "" {
				p.refuse(f.Block.Header, `on_change = "signal" needs a signal`, "", `add change_signal = "SIGHUP"`)
			}
		default:
			p.refuse(f.Block.At("on_change"), fmt.Sprintf("unknown value %q of on_change", w.Change), "", `write "restart", "signal" or "noop"`)
		}
		if f.Block.Has("paths") && len(w.Paths) == 0 {
			p.refuse(f.Block.At("paths"), "a watch block needs at least one path", "", `write one such as paths = ["**/*.go"]`)
		}
		if f.Block.Has("build") && (len(w.Build) == 0 || w.Build[0] == "") {
			p.refuse(f.Block.At("build"), "the build has no command", "", `write one such as build = ["go", "build", "."], or remove it`)
		}
		for name, patterns := range map[string][]string{"paths": w.Paths, "ignore": w.Ignore} {
			for _, pattern := range patterns {
				if err := glob.Check(pattern); err != nil {
					p.refuse(f.Block.At(name), fmt.Sprintf("invalid pattern %q", pattern), "", `write one such as "**/*.go"`)
				}
			}
		}
		list = append(list, w)
	}
	return list
}
