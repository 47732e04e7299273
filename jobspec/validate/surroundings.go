package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/diagnostic"
	"taskrun/jobspec/taskenv"
)

// regime is how ${name} is resolved at run time.
type regime int

const (
	replaced  regime = iota // by its value; unknown ones remain text
	building                // same, in env and meta, where names need not be cleaned
	evaluated               // as an expression; an unknown name fails the task
)

// surroundings are the names that references in a part of a job may use.
type surroundings struct {
	*task            // empty for a group or a job
	of    []resident // whose environments are used
	names map[string]bool
}

// resident is a task, or an allocation (task is nil), that may resolve a
// reference.
type resident struct {
	g *group
	t *api.Task
}

// everybody returns the allocation of a group and its tasks.
func (g *group) everybody() []resident {
	all := []resident{{g: g}}
	for _, t := range g.tg.Tasks {
		all = append(all, resident{g, orEmpty(t)})
	}
	return all
}

// of returns the surroundings of a part of a group or the job.
func (g *group) of(at jobspec.Path, all ...resident) *surroundings {
	return &surroundings{task: &task{checker: g.checker, g: g, t: &api.Task{}, at: at}, of: all}
}

// reference reports a reference that no run can resolve. Names that start with
// none of the words here depend on the environment of the host.
func (s *surroundings) reference(name string, at jobspec.Path, how regime) {
	kind, rest, dotted := strings.Cut(name, ".")
	switch {
	case strings.HasPrefix(name, variablePrefix):
		s.variable(name, at, how)
	case kind == "node" && how == evaluated && (strings.HasPrefix(rest, "attr.") || strings.HasPrefix(rest, "meta.")):
		s.reference(rest, at, how) // alternative spelling
	case kind == "node" && (strings.HasPrefix(rest, "attr.") || strings.HasPrefix(rest, "meta.")):
		s.unresolved(name, rest, at, how)
	case kind == "node", kind == "attr":
		if near, wrong := wrongNodeName(name); wrong {
			s.unresolved(name, near, at, how)
		}
	case kind == "secret" && s.t.Name != "":
		s.secret(name, rest, at, how)
	case dotted && how == evaluated && (kind == "job" || kind == "device"): // words of other contexts
		s.unresolved(name, "", at, how)
	}
}

// wrongNodeName reports whether no node has a value with that name, or the name
// looks like a misspelling of one that all nodes have.
func wrongNodeName(name string) (near string, wrong bool) {
	names := taskenv.NodeNames()
	if slices.Contains(names, name) {
		return "", false
	}
	near = diagnostic.Nearest(name, names)
	return near, near != "" || taskenv.NoNodeHas(name)
}

func (s *surroundings) secret(name, rest string, at jobspec.Path, how regime) {
	block, key, _ := strings.Cut(rest, ".")
	var blocks []string
	for _, secret := range s.t.Secrets {
		blocks = append(blocks, orEmpty(secret).Name)
	}
	if slices.Contains(blocks, block) {
		return
	}
	near := diagnostic.Nearest(block, blocks)
	if near != "" {
		near = "secret." + near + "." + key
	}
	s.unresolved(name, near, at, how)
}

// variable reports a NOMAD_* variable that never exists.
func (s *surroundings) variable(name string, at jobspec.Path, how regime) {
	known := s.variables()
	if known[name] || how == building && known[taskenv.CleanName(name)] || s.mayBeSet(name) {
		return
	}
	for _, other := range slices.Sorted(maps.Keys(known)) {
		if cleanName(other) == cleanName(name) { // only one of the spellings is right here
			s.unresolved(name, other, at, how)
			return
		}
	}
	for _, family := range variableFamilies() {
		switch rest, ok := strings.CutPrefix(name, variablePrefix+family); {
		case !ok || len(s.of) != 1:
		case family == metaFamily:
			s.metaReference(rest, at)
			return
		default:
			s.portVariable(family, rest, at)
			return
		}
	}
	var tails []string
	for other := range known {
		if tail, ok := strings.CutPrefix(other, variablePrefix); ok {
			tails = append(tails, tail)
		}
	}
	slices.Sort(tails)
	near := diagnostic.Nearest(strings.TrimPrefix(name, variablePrefix), tails)
	if near != "" {
		near = variablePrefix + near
	}
	s.unresolved(name, near, at, how)
}

// variables returns the variables that any of the residents has.
func (s *surroundings) variables() map[string]bool {
	if s.names == nil {
		s.names = map[string]bool{}
		for _, r := range s.of {
			for name := range taskenv.Possible(s.job, r.g.tg, r.t, r.g.ports.group) {
				s.names[name] = true
			}
		}
	}
	return s.names
}

// mayBeSet reports whether a variable may come from elsewhere: a template, a
// proxy, or the program that runs the tasks.
func (s *surroundings) mayBeSet(name string) bool {
	switch name {
	case "NOMAD_ADDR", "NOMAD_CACERT", "NOMAD_CAPATH", "NOMAD_CLIENT_CERT", "NOMAD_CLIENT_KEY", "NOMAD_TLS_SERVER_NAME",
		"NOMAD_SKIP_VERIFY", "NOMAD_HTTP_AUTH": // of Nomad's own client
		return true
	}
	if strings.HasPrefix(name, "NOMAD_UPSTREAM_") || strings.HasPrefix(name, "NOMAD_IPv6_") {
		return true
	}
	for _, r := range s.of {
		if slices.ContainsFunc(r.g.ports.legacy, func(label string) bool {
			return strings.HasSuffix(cleanName(name), "_"+cleanName(label)) // after the name of its task
		}) {
			return true
		}
		for _, tmpl := range orEmpty(r.t).Templates {
			if tmpl != nil && deref(tmpl.Envvars) && (deref(tmpl.EmbeddedTmpl) == "" || strings.Contains(*tmpl.EmbeddedTmpl, name)) {
				return true
			}
		}
	}
	return false
}

// unresolved warns about a reference that no run can resolve, and explains the
// effect.
func (s *surroundings) unresolved(name, near string, at jobspec.Path, how regime) {
	if how == evaluated {
		s.checker.unresolved(name, near, "the task fails when it starts", fmt.Sprintf("for a text, write $$${%s}", name), at)
	} else {
		s.checker.unresolved(name, near, "it stays in the value as it is written", "", at)
	}
}

func (c *checker) unresolved(name, near, outcome, remedy string, at jobspec.Path) {
	if near != "" {
		remedy = fmt.Sprintf("did you mean %q?", "${"+near+"}")
	}
	c.report(jobspec.Diagnostic{
		Severity: jobspec.Warning, Summary: fmt.Sprintf("${%s} is not a reference that Nomad knows", name),
		Detail: outcome, Remedy: remedy, Path: at, Word: name, Alone: true,
	})
}
