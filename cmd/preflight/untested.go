package preflight

import (
	"cmp"
	"fmt"
	"os/user"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/drivers/catalog"
	"taskrun/jobspec"
	"taskrun/jobspec/artifact"
)

// Untested returns notices, in the order of the files, about everything that a
// rehearsal does not test: the commands of the tasks, and what they need from a
// machine.
func (c *Case) Untested() jobspec.Diagnostics {
	found := perTask(untested)(c)
	found = append(found, perJob(gaps)(c)...)
	found = append(found, perJob(groupNetworks)(c)...)
	found = append(found, staticPorts(c)...)
	found.Sort()
	for i := range found {
		found[i].Severity, found[i].Remedy = jobspec.Notice, ""
	}
	return found
}

func untested(c *Case, t taskOf) (found jobspec.Diagnostics) {
	add := func(at jobspec.Path, format string, args ...any) {
		found = append(found, jobspec.Diagnostic{Summary: fmt.Sprintf(format, args...), Path: at})
	}
	if isGateway(t.Task) {
		add(t.at, "the listeners of ingress gateway %q", strings.TrimPrefix(t.Kind, gatewayKind))
		return found
	}
	option, what := program(t.Task)
	if option == "" {
		add(t.at.Attr("driver"), "task %q (%s)", t.Name, t.Driver)
	} else {
		add(t.at.Attr("config").Attr(option), "%s %q of task %q (%s)", option, what, t.Name, t.Driver)
	}
	if catalog.Schema(t.Driver) == nil && !catalog.Has(t.Driver) {
		add(t.at.Attr("driver"), "the config block of task %q: driver %q is a plugin whose options are not known", t.Name, t.Driver)
	}
	if t.User != "" && !inImage(c, t) && !existsHere(t.User) {
		add(t.at.Attr("user"), "user %q of task %q: this machine has no such user", t.User, t.Name)
	}
	if !c.Download {
		for i, a := range t.Artifacts {
			kind, _ := artifact.Unsupported(*a.GetterSource)
			add(t.at.Index("artifact", i).Attr("source"), "an artifact of task %q%s", t.Name, from(kind))
		}
	}
	for i, tmpl := range t.Templates {
		if source := *tmpl.SourcePath; source != "" && !rendered(t.Task, source) {
			add(t.at.Index("template", i).Attr("source"), "template %q of task %q: nothing brings its source %q", *tmpl.DestPath, t.Name, source)
		}
	}
	return found
}

func from(kind string) string {
	if remedies[kind] == "" { // the first part of a source may be anything, even a secret
		return ""
	}
	return " from " + kind
}

func rendered(t *api.Task, path string) bool {
	return slices.ContainsFunc(t.Templates, func(tmpl *api.Template) bool { return *tmpl.DestPath == path })
}

// program returns what a task would run, as far as its config says, with the name
// of the option.
func program(t *api.Task) (option, what string) {
	for _, option := range []string{"image", "command", "jar_path", "class", "image_path"} {
		if text, ok := t.Config[option].(string); ok && text != "" {
			return option, text
		}
	}
	return "", ""
}

// inImage reports whether the users of a task are those of its image.
func inImage(c *Case, t taskOf) bool {
	d := c.Drivers[t.Driver]
	return d != nil && d.Capabilities().FSIsolation == drivers.FSIsolationImage
}

func existsHere(name string) bool {
	if _, err := user.Lookup(name); err == nil {
		return true
	}
	_, err := user.LookupId(name)
	return err == nil
}

// groupNetworks returns the networks of groups, whose addresses are invented.
func groupNetworks(_ *Case, f File) (found jobspec.Diagnostics) {
	for i, g := range f.Job.TaskGroups {
		if len(g.Networks) == 0 || onlyGateways(g) {
			continue
		}
		if mode := cmp.Or(g.Networks[0].Mode, "host"); mode != "host" {
			found = append(found, jobspec.Diagnostic{
				Summary: fmt.Sprintf("the %s network of group %q: its addresses are made up", mode, *g.Name),
				Path:    jobspec.Root.Index("group", i).Index("network", 0),
			})
		}
	}
	return found
}
