package decode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"taskrun/jobspec/diagnostic"
)

func missingAttribute(name, where string, at hcl.Range) *hcl.Diagnostic {
	return diagnostic.Error(at, fmt.Sprintf("%q is missing in %s", name, where), "", fmt.Sprintf("add %s = …", name))
}

func duplicateBlock(in instance, first hcl.Range) *hcl.Diagnostic {
	return diagnostic.Error(in.header, fmt.Sprintf("%q is given twice", in.name),
		fmt.Sprintf("only one is allowed here; the first is on line %d", first.Start.Line), "")
}

func unknownName(what, name string, at hcl.Range, where string, known []string) *hcl.Diagnostic {
	detail := ""
	if len(known) <= 6 { // a longer list would not help
		detail = fmt.Sprintf("it may hold %s", strings.Join(slices.Sorted(slices.Values(known)), ", "))
	}
	return diagnostic.Error(at, fmt.Sprintf("unknown %s %q in %s", what, name, where), detail, diagnostic.DidYouMean(name, known))
}

func (s *schema) names() []string {
	names := make([]string, 0, len(s.attributes)+len(s.blockTypes))
	for name := range s.attributes {
		names = append(names, name)
	}
	for name := range s.blockTypes {
		if s.attributes[name] == nil {
			names = append(names, name)
		}
	}
	return names
}

func (d *Decoder) unknownAttribute(a *hcl.Attribute, where string, s *schema) *hcl.Diagnostic {
	if s.blockTypes[a.Name] != nil {
		return diagnostic.Error(a.NameRange, fmt.Sprintf("%q must be a block", a.Name), "",
			fmt.Sprintf("leave out the equals sign: %s {", a.Name))
	}
	diag := unknownName("attribute", a.Name, a.NameRange, where, s.names())
	home, usual := d.home(a.Name, s), homes[a.Name]
	if home == "" && diagnostic.Nearest(a.Name, s.names()) == "" || s.blockTypes[usual] != nil {
		home = usual
	}
	if home != "" {
		diagnostic.SetRemedy(diag, fmt.Sprintf("it belongs in the %s block", home))
	}
	return diag
}

// homes maps attributes that are often written in the wrong block to the block
// they belong to.
var homes = map[string]string{
	"datacenters": "job", "namespace": "job", "node_pool": "job", "priority": "job", "region": "job",
	"count": "group", "max_run_duration": "group",
	"driver": "task", "kill_signal": "task", "kill_timeout": "task", "leader": "task", "user": "task",
	"cores": "resources", "cpu": "resources", "memory": "resources", "memory_max": "resources",
	"args": "config", "command": "config", "image": "config", "ports": "config", "volumes": "config",
	"attempts": "restart", "cron": "periodic", "crons": "periodic",
	"destination": "template or artifact", "hook": "lifecycle", "sidecar": "lifecycle",
	"max_files": "logs", "max_file_size": "logs", "static": "port", "to": "port",
}

func (d *Decoder) unknownBlock(b block, where string, s *schema) *hcl.Diagnostic {
	if s.attributes[b.name] != nil {
		return diagnostic.Error(b.at, fmt.Sprintf("%q must be an attribute", b.name), "",
			fmt.Sprintf("write %s = …", b.name))
	}
	return unknownName("block", b.name, b.at, where, s.names())
}

// home returns the type of the only nested block that has an attribute with
// that name.
func (d *Decoder) home(name string, s *schema) string {
	home := ""
	for _, f := range s.order {
		if t := f.element(); t != nil && d.schema(t).attributes[name] != nil {
			if home != "" {
				return ""
			}
			home = f.name
		}
	}
	return home
}
