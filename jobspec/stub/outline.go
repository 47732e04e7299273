package stub

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/placement"
	"taskrun/jobspec/taskenv"
)

// Outline is a job file, and what is known of it, whose stubs are to be listed.
type Outline struct {
	// File was parsed with jobspec.Options.Outline, and its job is canonical.
	File *jobspec.File
	Name string
	// Requests returns the requests of the templates of a task, by the indexes of
	// the group and the task. nil: they are not known.
	Requests func(group, task int) []Request
	// Node is this machine.
	Node *taskenv.Node
}

// block is a block of a stubs file that a job needs.
type block struct {
	Need

	places   []string
	items    []string
	samples  map[string]string
	optional bool
}

// needs is everything that a job needs of a cluster, except for values of
// variables.
type needs struct {
	*Outline

	own      []string // services that the job itself runs
	order    []Need
	blocks   map[Need]*block
	node     []nodeValue
	computed []string
}

// nodeValue is a value of the node.
type nodeValue struct {
	name, value string // the value is HCL
	place       string
	has         string // the value of this machine, which fails a constraint
	measured    bool
}

// needsOf lists everything that a job needs.
func needsOf(o *Outline) *needs {
	k := &needs{Outline: o, blocks: map[Need]*block{}}
	j := o.File.Job
	for _, g := range j.TaskGroups {
		k.own = append(k.own, serviceNames(g.Services)...)
		for _, t := range g.Tasks {
			k.own = append(k.own, serviceNames(t.Services)...)
		}
	}
	for i, g := range j.TaskGroups {
		at := jobspec.Root.Index("group", i)
		k.volumes(g, at)
		k.upstreams(g, at)
		for n, t := range g.Tasks {
			in := at.Index("task", n)
			k.secrets(t, in)
			var requests []Request
			if o.Requests != nil {
				requests = o.Requests(i, n)
			}
			for n := range t.Templates {
				k.template(t, n, in, slices.DeleteFunc(slices.Clone(requests), func(r Request) bool { return r.Template != n }))
			}
		}
	}
	k.nodeValues()
	return k
}

func serviceNames(list []*api.Service) (names []string) {
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}

// isOwn reports whether the job runs a service. Part of a name may be known only
// at run time.
func (k *needs) isOwn(name string) bool {
	return slices.ContainsFunc(k.own, func(own string) bool {
		before, _, varies := strings.Cut(own, "${")
		return own == name || varies && strings.HasPrefix(name, before) && strings.HasSuffix(name, own[strings.LastIndexByte(own, '}')+1:])
	})
}

func (k *needs) add(n Need, line int, where string) *block {
	b := k.blocks[n]
	if b == nil {
		b = &block{Need: n, optional: true, samples: map[string]string{}}
		k.blocks[n] = b
		k.order = append(k.order, n)
	}
	if place := k.place(line, where); !slices.Contains(b.places, place) {
		b.places = append(b.places, place)
	}
	return b
}

func (b *block) has(items []string, samples map[string]string) {
	for _, item := range items {
		if !slices.Contains(b.items, item) {
			b.items = append(b.items, item)
		}
	}
	for key, sample := range samples {
		if b.samples[key] == "" {
			b.samples[key] = sample
		}
	}
}

// line returns the line of a path in the job file plus an offset, or 0 if it is
// unknown.
func (k *needs) line(p jobspec.Path, further int) int {
	at := k.File.Positions.At(p)
	if at.IsZero() {
		return 0
	}
	text := k.File.Sources[at.File]
	if further > 0 && at.Start.Byte < len(text) && bytes.HasPrefix(text[at.Start.Byte:], []byte("<<")) {
		further++ // a heredoc starts on the next line
	}
	return at.Start.Line + max(further-1, 0)
}

// lineOf returns the first line of the job file with a text, or 0.
func (k *needs) lineOf(text string) int {
	source := k.File.Sources[k.Name]
	at := bytes.Index(source, []byte(text))
	if at < 0 {
		return 0
	}
	return 1 + bytes.Count(source[:at], []byte("\n"))
}

func (k *needs) place(line int, where string) string {
	if line == 0 {
		return fmt.Sprintf("%s: %s", k.Name, where)
	}
	return fmt.Sprintf("%s:%d: %s", k.Name, line, where)
}

// unknown records what only the start of a task shows.
func (k *needs) unknown(line int, what string) {
	if place := k.place(line, what); !slices.Contains(k.computed, place) {
		k.computed = append(k.computed, place)
	}
}

func (k *needs) volumes(g *api.TaskGroup, at jobspec.Path) {
	for _, name := range slices.Sorted(maps.Keys(g.Volumes)) {
		v := g.Volumes[name]
		if v.Type != "host" {
			continue
		}
		sources := []string{v.Source}
		if v.PerAlloc {
			sources = nil
			for n := range min(max(*g.Count, 1), 100) {
				sources = append(sources, fmt.Sprintf("%s[%d]", v.Source, n))
			}
		}
		for _, source := range sources {
			k.add(Need{VolumeBlock, source}, k.line(at.Label("volume", name), 0), fmt.Sprintf("volume %s of group %s", name, *g.Name)).optional = false
		}
	}
}

func (k *needs) upstreams(g *api.TaskGroup, at jobspec.Path) {
	for n, s := range g.Services {
		for _, name := range Upstreams(s) {
			if !k.isOwn(name) {
				k.add(Need{ServiceBlock, name}, k.line(at.Index("service", n), 0), fmt.Sprintf("upstream of service %s of group %s", s.Name, *g.Name)).optional = false
			}
		}
	}
}

// Upstreams returns the names of the services that the sidecar or the ingress
// gateway of a service reaches.
func Upstreams(s *api.Service) (names []string) {
	if s.Connect == nil {
		return nil
	}
	if sidecar := s.Connect.SidecarService; sidecar != nil && sidecar.Proxy != nil {
		for _, u := range sidecar.Proxy.Upstreams {
			names = append(names, u.DestinationName)
		}
	}
	if gateway := s.Connect.Gateway; gateway != nil && gateway.Ingress != nil {
		for _, l := range gateway.Ingress.Listeners {
			for _, to := range l.Services {
				if to.Name != "*" {
					names = append(names, to.Name)
				}
			}
		}
	}
	return names
}

// secrets adds the secret blocks of a task, with the keys that it refers to.
func (k *needs) secrets(t *api.Task, at jobspec.Path) {
	var keys map[string]bool
	for i, s := range t.Secrets {
		need := Need{VaultSecret, strings.Trim(s.Path, "/")}
		if s.Provider == "nomad" {
			namespace, _ := s.Config["namespace"].(string)
			need = Need{NomadVariable, VariableLabel(strings.Trim(s.Path, "/"), orNamespace(namespace, k.File.Job))}
		} else if s.Provider != "vault" {
			continue
		}
		b := k.add(need, k.line(at.Index("secret", i), 0), "secret "+s.Name+" of task "+t.Name)
		b.optional = false
		if keys == nil {
			keys = references(t)
		}
		for _, name := range slices.Sorted(maps.Keys(keys)) {
			if key, ok := strings.CutPrefix(name, "secret."+s.Name+"."); ok {
				b.has([]string{key}, nil)
			}
		}
	}
}

// orNamespace returns a namespace, or that of the job.
func orNamespace(namespace string, job *api.Job) string {
	if namespace == "" && job.Namespace != nil {
		return *job.Namespace
	}
	return namespace
}

// references returns the names of all ${…} references in a part of a job.
func references(part any) map[string]bool {
	names := map[string]bool{}
	if text, err := json.Marshal(part); err == nil {
		for name := range taskenv.References(string(text)) {
			names[name] = true
		}
	}
	return names
}

// template adds what a template of a task requests. Its execution shows the
// names, its text the keys and the lines.
func (k *needs) template(t *api.Task, index int, at jobspec.Path, requests []Request) {
	tmpl := t.Templates[index]
	where := fmt.Sprintf("template %s of task %s", deref(tmpl.DestPath), t.Name)
	if source := deref(tmpl.SourcePath); source != "" {
		k.unknown(k.line(at.Index("template", index), 0), where+" is read from "+source+" when the task starts")
		return
	}
	var computed []Call
	named := map[Need]bool{}
	for _, c := range Calls(deref(tmpl.EmbeddedTmpl), deref(tmpl.LeftDelim), deref(tmpl.RightDelim)) {
		line := k.line(at.Index("template", index).Attr("data"), c.Line)
		if c.Argument != "" {
			computed = append(computed, c)
			continue
		}
		if c.Kind == NomadVariable {
			key := keyOf(c.Label)
			if !strings.Contains(c.Label, "@") {
				key.namespace = orNamespace("", k.File.Job)
			}
			c.Label = VariableLabel(key.path, key.namespace)
		}
		named[c.Need] = true
		k.call(c, line, where)
	}
	resolved := map[string]bool{}
	for _, r := range requests {
		isNamed := false
		for n := range named {
			isNamed = isNamed || n.Kind == r.Kind && (Todo{Need: n}).fits(r.Label, false)
		}
		if isNamed || r.Varies {
			continue
		}
		for _, c := range computed {
			if c.Kind == r.Kind && c.List == r.List {
				resolved[c.Function+c.Argument] = true
				c.Need = r.Need
				k.call(c, k.line(at.Index("template", index).Attr("data"), c.Line), where)
			}
		}
	}
	for _, c := range computed {
		if !resolved[c.Function+c.Argument] {
			k.unknown(k.line(at.Index("template", index).Attr("data"), c.Line),
				fmt.Sprintf("%s asks for a %s by %s, which is computed when the task starts", where, c.Words(), c.Argument))
		}
	}
}

// call adds a call with a known label.
func (k *needs) call(c Call, line int, where string) {
	switch {
	case c.Kind == ServiceBlock && k.isOwn(c.Label):
		return
	case c.List:
		k.unknown(line, fmt.Sprintf("%s lists each %s below %q: add the blocks that it is to find, such as %s", where, c.Words(), c.Label,
			Need{c.Kind, listedLabel(c.Need)}.Block()))
		if c.Optional {
			return
		}
		c.Label = listedLabel(c.Need)
	}
	b := k.add(c.Need, line, where)
	b.optional = b.optional && c.Optional && c.Kind != ServiceBlock
	b.has(c.Items, c.Samples)
}

// listedLabel returns the label of a block that a list finds.
func listedLabel(n Need) string {
	if n.Kind == NomadVariable {
		key := keyOf(n.Label)
		return VariableLabel(strings.Trim(key.path+"/NAME", "/"), key.namespace)
	}
	return strings.Trim(n.Label, "/") + "/NAME"
}

// environmentOf matches requests of templates for values of the node.
var environmentOf = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`env\s+"((?:attr|meta|node)\.[^"]+)"`)
})

// nodeValues adds the values of the node that the job uses and this machine does
// not have, and those that fail a constraint.
func (k *needs) nodeValues() {
	if k.Node == nil {
		return
	}
	added := map[string]bool{}
	for _, g := range placement.Gaps(k.File.Job, k.Node) {
		v := nodeValue{name: g.Name, value: fmt.Sprintf("TODO(%q)", g.Name), has: g.Has, measured: g.Measured}
		if g.Satisfied {
			v.value = quote(g.Value)
		}
		v.place = k.place(k.line(g.At, 0), "constraint")
		added[g.Name] = true
		if g.Satisfied || !g.Measured {
			k.node = append(k.node, v)
		}
	}
	names := references(withoutPlacement(k.File.Job))
	for _, g := range k.File.Job.TaskGroups {
		for _, t := range g.Tasks {
			for _, tmpl := range t.Templates {
				for _, m := range environmentOf().FindAllStringSubmatch(deref(tmpl.EmbeddedTmpl), -1) {
					names[m[1]] = true
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		kind, _, _ := strings.Cut(name, ".")
		_, has := k.Node.Lookup("${" + name + "}")
		if (kind == "attr" || kind == "meta" || kind == "node") && !added[name] && (!has || name == "node.class" && k.Node.Class == "") && !taskenv.NoNodeHas(name) {
			k.node = append(k.node, nodeValue{name: name, value: fmt.Sprintf("TODO(%q)", name), place: k.place(k.lineOf("${"+name), "reference")})
		}
	}
}

// withoutPlacement returns a copy of a job without what only placement reads.
func withoutPlacement(j *api.Job) *api.Job {
	job := *j
	job.Constraints, job.Affinities, job.Spreads = nil, nil, nil
	job.TaskGroups = slices.Clone(j.TaskGroups)
	for i, g := range job.TaskGroups {
		group := *g
		group.Constraints, group.Affinities, group.Spreads = nil, nil, nil
		group.Tasks = slices.Clone(g.Tasks)
		for n, t := range group.Tasks {
			task := *t
			task.Constraints, task.Affinities = nil, nil
			group.Tasks[n] = &task
		}
		job.TaskGroups[i] = &group
	}
	return &job
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
