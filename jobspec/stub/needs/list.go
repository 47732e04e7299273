package needs

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
)

// Job is a job file whose stubs are listed.
type Job struct {
	// File was parsed with jobspec.Options.Outline, and its job is canonical.
	File *jobspec.File
	Name string
	// Requests returns the requests of the templates of a task, by the indexes of
	// the group and the task. nil: they are not known.
	Requests func(group, task int) []stub.Request
	// Node is this machine.
	Node *taskenv.Node
}

// block is a block of a stubs file that a job needs.
type block struct {
	stub.Need

	places   []string
	items    []string
	samples  map[string]string
	optional bool
	nested   bool // the items are below "data", and the label does not say so
}

// needs is everything that a job needs from a cluster, except for values of
// variables.
type needs struct {
	*Job

	own      []string // services that the job itself runs
	order    []stub.Need
	blocks   map[stub.Need]*block
	node     []nodeValue
	computed []string
}

type nodeValue struct {
	name, value string // the value is HCL
	place       string
	has         string // the value of this machine, which fails a constraint
	measured    bool
}

// isOwn reports whether the job runs a service. Part of a name may be known only
// at run time.
func (k *needs) isOwn(name string) bool {
	return slices.ContainsFunc(k.own, func(own string) bool {
		before, _, varies := strings.Cut(own, "${")
		return own == name || varies && strings.HasPrefix(name, before) && strings.HasSuffix(name, own[strings.LastIndexByte(own, '}')+1:])
	})
}

func (k *needs) add(n stub.Need, line int, where string) *block {
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

func deref(s *string) string { return *cmp.Or(s, new(string)) }

func orNamespace(namespace string, job *api.Job) string {
	return cmp.Or(namespace, deref(job.Namespace))
}
