package validate

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/taskenv"
)

// interpolations warns about unresolvable references in the job's own meta.
func (c *checker) interpolations() {
	var all []resident
	for tg, at := range blocks(c.job.TaskGroups, "group", jobspec.Root) {
		all = append(all, newGroup(c, tg, at).everybody()...)
	}
	if len(all) > 0 {
		all[0].g.of(jobspec.Root, all...).table(c.job.Meta, jobspec.Root.Attr("meta"), building)
	}
}

// interpolations warns about unresolvable references in the parts of a group.
func (g *group) interpolations() {
	all := g.of(g.at, g.everybody()...)
	all.table(g.tg.Meta, g.at.Attr("meta"), building)
	for n, at := range blocks(g.tg.Networks, "network", g.at) {
		all.text(n.Hostname, at.Attr("hostname"), replaced)
		if n.DNS != nil {
			all.list(n.DNS.Servers, at.Attr("dns").Attr("servers"))
			all.list(n.DNS.Searches, at.Attr("dns").Attr("searches"))
			all.list(n.DNS.Options, at.Attr("dns").Attr("options"))
		}
		if n.CNI != nil {
			all.table(n.CNI.Args, at.Attr("cni").Attr("args"), replaced)
		}
	}
	g.of(g.at, resident{g: g}).services(g.tg.Services, g.at)
}

// interpolations warns about unresolvable references in the parts of a task.
func (t *task) interpolations() {
	s := &surroundings{task: t, of: []resident{{t.g, t.t}}}
	for _, key := range slices.Sorted(maps.Keys(t.t.Config)) {
		at := t.at.Attr("config").Attr(key)
		eachString(t.t.Config[key], func(text string) { s.text(text, at, evaluated) })
	}
	s.table(t.t.Env, t.at.Attr("env"), building)
	s.table(t.t.Meta, t.at.Attr("meta"), building)
	for tmpl, at := range blocks(t.t.Templates, "template", t.at) {
		s.text(deref(tmpl.SourcePath), at.Attr("source"), replaced)
		s.text(deref(tmpl.DestPath), at.Attr("destination"), replaced)
	}
	for a, at := range blocks(t.t.Artifacts, "artifact", t.at) {
		s.text(deref(a.GetterSource), at.Attr("source"), replaced)
		s.text(deref(a.RelativeDest), at.Attr("destination"), replaced)
		s.table(a.GetterOptions, at.Attr("options"), replaced)
		s.table(a.GetterHeaders, at.Attr("headers"), replaced)
	}
	for m, at := range blocks(t.t.VolumeMounts, "volume_mount", t.at) {
		s.text(deref(m.Volume), at.Attr("volume"), replaced)
		s.text(deref(m.Destination), at.Attr("destination"), replaced)
		s.text(deref(m.PropagationMode), at.Attr("propagation_mode"), replaced)
	}
	for secret, at := range blocks(t.t.Secrets, "secret", t.at) {
		s.table(secret.Env, at.Attr("env"), replaced)
	}
	s.services(t.t.Services, t.at)
}

// services checks the texts of services and their checks.
func (s *surroundings) services(services []*api.Service, at jobspec.Path) {
	for v, at := range blocks(services, "service", at) {
		s.texts(at, "name", v.Name, "port", v.PortLabel, "address", v.Address)
		s.list(v.Tags, at.Attr("tags"))
		s.list(v.CanaryTags, at.Attr("canary_tags"))
		s.table(v.Meta, at.Attr("meta"), replaced)
		s.table(v.CanaryMeta, at.Attr("canary_meta"), replaced)
		s.table(v.TaggedAddresses, at.Attr("tagged_addresses"), replaced)
		for j, c := range v.Checks {
			at := at.Index("check", j)
			s.texts(at, "name", c.Name, "command", c.Command, "path", c.Path, "protocol", c.Protocol, "port", c.PortLabel,
				"initial_status", c.InitialStatus, "notes", c.Notes, "method", c.Method, "grpc_service", c.GRPCService)
			s.list(c.Args, at.Attr("args"))
			for _, key := range slices.Sorted(maps.Keys(c.Header)) {
				s.text(key, at.Attr("header"), replaced)
				s.list(c.Header[key], at.Attr("header").Attr(key))
			}
		}
	}
}

// texts checks attributes, given as names followed by values.
func (s *surroundings) texts(at jobspec.Path, attributes ...string) {
	for pair := range slices.Chunk(attributes, 2) {
		s.text(pair[1], at.Attr(pair[0]), replaced)
	}
}

func (s *surroundings) list(texts []string, at jobspec.Path) {
	for i, text := range texts {
		s.text(text, at.Parent().Index(at.Name(), i), replaced)
	}
}

func (s *surroundings) table(block map[string]string, at jobspec.Path, how regime) {
	for _, key := range slices.Sorted(maps.Keys(block)) {
		s.text(key, at.Attr(key), how)
		s.text(block[key], at.Attr(key), how)
	}
}

// text reports the references in a text that no run can resolve.
func (s *surroundings) text(text string, at jobspec.Path, how regime) {
	if !strings.Contains(text, "${") {
		return
	}
	if how == evaluated {
		text = strings.ReplaceAll(text, "$${", "") // these produce the text ${
	}
	for name := range taskenv.References(text) {
		s.reference(name, at, how)
	}
}

// references warns about variables such as NOMAD_PORT_http or NOMAD_META_key in
// the texts of a task if the port or key does not exist. The variable would be
// empty, or its name would remain in the text.
func (t *task) references() {
	for _, key := range slices.Sorted(maps.Keys(t.t.Env)) {
		t.scan(t.t.Env[key], t.at.Attr("env").Attr(key))
	}
	for _, key := range slices.Sorted(maps.Keys(t.t.Config)) {
		at := t.at.Attr("config").Attr(key)
		eachString(t.t.Config[key], func(text string) { t.scan(text, at) })
	}
	for tmpl, at := range blocks(t.t.Templates, "template", t.at) {
		t.scan(deref(tmpl.EmbeddedTmpl), at.Attr("data"))
	}
}

// scan searches a text for such variables, written as ${X}, $X or "X".
func (t *task) scan(text string, at jobspec.Path) {
	for {
		_, rest, found := strings.Cut(text, variablePrefix)
		if !found {
			return
		}
		text = rest
		for _, family := range variableFamilies() {
			tail, ok := strings.CutPrefix(rest, family)
			if !ok {
				continue
			}
			end := strings.IndexFunc(tail, notInName)
			if end < 0 {
				end = len(tail)
			}
			if end == 0 || strings.HasPrefix(tail[end:], "$") || strings.HasPrefix(tail[end:], "%") || strings.HasPrefix(tail[end:], "*") {
				break // the rest of the name is added elsewhere
			}
			if family == metaFamily {
				t.metaReference(tail[:end], at)
			} else {
				t.portVariable(family, tail[:end], at)
			}
			break
		}
	}
}
