package stub

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/taskenv"
)

// Skeleton returns a stubs file to fill in, with everything that a job file
// needs from a cluster. The file must have been parsed with
// jobspec.Options.Outline. The services of the job itself are omitted.
func Skeleton(file *jobspec.File, name string) []byte {
	k := &skeleton{file: file, name: name, blocks: map[Need]*block{}}
	j := file.Job
	for _, g := range j.TaskGroups {
		k.own = append(k.own, serviceNames(g.Services)...)
		for _, t := range g.Tasks {
			k.own = append(k.own, serviceNames(t.Services)...)
		}
	}
	for i, g := range j.TaskGroups {
		at := jobspec.Root.Index("group", i)
		for _, volume := range slices.Sorted(maps.Keys(g.Volumes)) {
			if v := g.Volumes[volume]; v.Type == "host" {
				k.add(Need{VolumeBlock, v.Source}, k.line(at.Label("volume", volume), 0), "volume "+volume+" of group "+*g.Name)
			}
		}
		for n, t := range g.Tasks {
			k.task(t, at.Index("task", n))
		}
	}
	return k.write()
}

func serviceNames(list []*api.Service) (names []string) {
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}

// block is a block of the skeleton.
type block struct {
	Need
	places   []string
	items    []string
	optional bool
}

type skeleton struct {
	file     *jobspec.File
	name     string
	own      []string // services that the job itself runs
	order    []Need
	blocks   map[Need]*block
	computed []string
}

func (k *skeleton) add(n Need, line int, where string) *block {
	b := k.blocks[n]
	if b == nil {
		b = &block{Need: n, optional: true}
		k.blocks[n] = b
		k.order = append(k.order, n)
	}
	if place := k.place(line, where); !slices.Contains(b.places, place) {
		b.places = append(b.places, place)
	}
	return b
}

// line returns the line of a path in the job file plus an offset, or 0 if it is
// unknown.
func (k *skeleton) line(p jobspec.Path, further int) int {
	at := k.file.Positions.At(p)
	if at.IsZero() {
		return 0
	}
	text := k.file.Sources[at.File]
	if further > 0 && at.Start.Byte < len(text) && bytes.HasPrefix(text[at.Start.Byte:], []byte("<<")) {
		further++ // a heredoc starts on the next line
	}
	return at.Start.Line + max(further-1, 0)
}

func (k *skeleton) place(line int, where string) string {
	if line == 0 {
		return fmt.Sprintf("%s: %s", k.name, where)
	}
	return fmt.Sprintf("%s:%d: %s", k.name, line, where)
}

func (k *skeleton) task(t *api.Task, at jobspec.Path) {
	for i, s := range t.Secrets {
		need := Need{VaultSecret, s.Path}
		if s.Provider == "nomad" {
			namespace, _ := s.Config["namespace"].(string)
			need = Need{NomadVariable, VariableLabel(s.Path, namespace)}
		} else if s.Provider != "vault" {
			continue
		}
		k.add(need, k.line(at.Index("secret", i), 0), "secret "+s.Name+" of task "+t.Name).optional = false
	}
	for i, tmpl := range t.Templates {
		where := fmt.Sprintf("template %s of task %s", deref(tmpl.DestPath), t.Name)
		if deref(tmpl.SourcePath) != "" {
			k.computed = append(k.computed, k.place(k.line(at.Index("template", i), 0), where+" is read from "+*tmpl.SourcePath+" when the task starts"))
			continue
		}
		for _, c := range Calls(deref(tmpl.EmbeddedTmpl), deref(tmpl.LeftDelim), deref(tmpl.RightDelim)) {
			line := k.line(at.Index("template", i).Attr("data"), c.Line)
			switch {
			case c.Argument != "":
				k.computed = append(k.computed, k.place(line, fmt.Sprintf("%s asks for a %s by %s, which is computed when the task starts", where, c.Words(), c.Argument)))
			case c.Kind == ServiceBlock && slices.Contains(k.own, c.Label):
			default:
				b := k.add(c.Need, line, where)
				b.optional = b.optional && c.Optional
				for _, item := range c.Items {
					if !slices.Contains(b.items, item) {
						b.items = append(b.items, item)
					}
				}
			}
		}
	}
}

// write writes the skeleton in the style of job files.
func (k *skeleton) write() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# What job %q asks a cluster for, to be filled in and saved as %s beside %s.\n", deref(cmp.Or(k.file.Job.ID, k.file.Job.Name)), DefaultName, k.name)
	if len(k.file.Unset) > 0 {
		b.WriteString("\nvariables {\n")
		for _, v := range k.file.Unset {
			fmt.Fprintf(&b, "  %s = null # %s\n", v.Name, v.Type)
		}
		b.WriteString("}\n")
	}
	for _, n := range k.order {
		k.blocks[n].write(&b)
	}
	k.writeNode(&b)
	for i, c := range k.computed {
		if i == 0 {
			b.WriteString("\n# Known only when the task starts:\n")
		}
		fmt.Fprintf(&b, "# %s\n", c)
	}
	formatted, diagnostics := jobspec.Format(jobspec.Source{Name: DefaultName, Text: b.Bytes()})
	if diagnostics.HasErrors() {
		return b.Bytes()
	}
	return formatted
}

func (b *block) write(w *bytes.Buffer) {
	w.WriteByte('\n')
	for _, p := range b.places {
		fmt.Fprintf(w, "# %s\n", p)
	}
	lines := []string{fmt.Sprintf("%s %q {", b.Kind, b.Label)}
	for _, l := range kinds[b.Kind].lines {
		lines = append(lines, strings.ReplaceAll(l, "%q", strconv.Quote(b.Label)))
	}
	for _, item := range b.items {
		lines = append(lines, fmt.Sprintf("  %s = TODO(%q)", item, item))
	}
	lines = append(lines, "}")
	optional := b.optional && b.Kind != ServiceBlock && b.Kind != VolumeBlock
	if optional {
		w.WriteString("# Optional:\n")
	}
	for _, l := range lines {
		if optional {
			l = "# " + l
		}
		w.WriteString(l + "\n")
	}
}

// writeNode writes the node values that the job uses and this machine does not
// have.
func (k *skeleton) writeNode(w *bytes.Buffer) {
	text, err := json.Marshal(k.file.Job)
	if err != nil {
		return
	}
	meta := map[string]bool{}
	class := false
	for ref := range taskenv.References(string(text)) {
		if key, ok := strings.CutPrefix(ref, "meta."); ok {
			meta[key] = true
		}
		class = class || ref == "node.class"
	}
	if len(meta) == 0 && !class {
		return
	}
	w.WriteString("\nnode {\n")
	if class {
		w.WriteString("  class = \"\"\n")
	}
	if len(meta) > 0 {
		w.WriteString("  meta = {\n")
		for _, key := range slices.Sorted(maps.Keys(meta)) {
			fmt.Fprintf(w, "    %q = \"\"\n", key)
		}
		w.WriteString("  }\n")
	}
	w.WriteString("}\n")
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
