package taskenv

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// variables is an environment under construction.
type variables struct {
	view   View              // where the task sees ports; nil: where the machine does
	values map[string]string // by cleaned name
	// unwritten are cleaned names of meta keys with characters that a reference
	// cannot contain. In Nomad, which cleans names last, references to them
	// remain text.
	unwritten map[string]bool
	node      *Node
	warnings  []Warning
}

func (v *variables) set(name, value string) { v.values[CleanName(name)] = value }

func (v *variables) setIf(name, value string) {
	if value != "" {
		v.values[name] = value
	}
}

func (v *variables) setNumber(name string, n int) {
	if n != 0 {
		v.values[name] = strconv.Itoa(n)
	}
}

// lookup resolves a reference against everything known so far; ports and meta
// keys have both their original and their cleaned name.
func (v *variables) lookup(name string) (string, bool) {
	if value, ok := v.node.value(name); ok {
		return value, true
	}
	name = CleanName(name)
	value, ok := v.values[name]
	return value, ok && !v.unwritten[name]
}

// denied lists the variables of the host that no task inherits: Nomad's default
// for the client option env.denylist, and taskrun's own variables for clusters.
// See
// https://developer.hashicorp.com/nomad/docs/configuration/client#env-denylist.
var denied = map[string]bool{
	"CONSUL_TOKEN": true, "CONSUL_HTTP_TOKEN": true, "CONSUL_HTTP_TOKEN_FILE": true,
	"NOMAD_TOKEN": true, "VAULT_TOKEN": true,
	"TASKRUN_TOKEN": true, "TASKRUN_HTTP_AUTH": true,
	"CONSUL_LICENSE": true, "NOMAD_LICENSE": true, "VAULT_LICENSE": true,
	"CONSUL_LICENSE_PATH": true, "NOMAD_LICENSE_PATH": true, "VAULT_LICENSE_PATH": true,
	"AWS_ACCESS_KEY_ID": true, "AWS_SECRET_ACCESS_KEY": true, "AWS_SESSION_TOKEN": true,
	"AWS_METADATA_URL":               true,
	"GOOGLE_APPLICATION_CREDENTIALS": true, "GOOGLE_OAUTH_ACCESS_TOKEN": true,
}

// allowed returns the variables of environ, in the form of os.Environ, that a
// task may inherit. The last one of a name comes first.
func allowed(environ []string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for _, entry := range slices.Backward(environ) {
			name, value, ok := strings.Cut(entry, "=")
			if ok && name != "" && !denied[name] && !yield(name, value) {
				return
			}
		}
	}
}

// setHost adds the variables of the host that are not set yet.
func (v *variables) setHost(environ []string) {
	block := map[string]string{}
	for name, value := range allowed(environ) {
		name = CleanName(name)
		_, taken := v.values[name]
		if _, again := block[name]; !taken && !again {
			block[name] = value
		}
	}
	v.setBlock(block, scope{})
}

// scope describes what the values of a block may refer to, besides values of
// the node and variables.
type scope struct {
	secrets map[string]string // values of secrets
	lint    bool              // check references
}

// setBlock sets the variables of a block, which override earlier ones and may
// refer to them and to each other.
func (v *variables) setBlock(block map[string]string, in scope) {
	var referring map[string]string
	for name, value := range block {
		if !strings.Contains(value, "${") {
			v.values[name] = value
			continue
		}
		if referring == nil {
			referring = map[string]string{}
		}
		referring[name] = value
	}
	if referring == nil {
		return
	}
	r := &resolver{variables: v, scope: in, block: block, referring: referring, done: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(referring)) {
		r.resolve(name)
	}
}

// resolver sets the variables of a block that contain references, in the order
// of their dependencies.
type resolver struct {
	*variables
	scope
	block     map[string]string // all of the block
	referring map[string]string // variables with references
	done      map[string]bool   // variables that are set
}

func (r *resolver) resolve(name string) {
	if r.done[name] {
		return
	}
	value := Replace(r.referring[name], func(ref string) (string, bool) { return r.lookup(name, ref) })
	r.values[name] = value
	r.done[name] = true
}

// lookup resolves a reference in the variable name of the block.
func (r *resolver) lookup(name, ref string) (string, bool) {
	sibling := CleanName(ref)
	_, inBlock := r.block[sibling]
	if _, isNode := r.node.value(ref); inBlock && !isNode && sibling != name {
		if r.leadsTo(sibling, name, map[string]bool{}) {
			r.warn(name, ref, CyclicReference)
			return "", false
		}
		r.warn(name, ref, SiblingReference)
		if _, ok := r.referring[sibling]; ok {
			r.resolve(sibling)
		}
	}
	value, ok := r.variables.lookup(ref)
	if !ok {
		value, ok = r.secrets[ref]
	}
	if !ok {
		r.warn(name, ref, UnknownReference)
	}
	return value, ok
}

// leadsTo reports whether a chain of references within the block leads from one
// variable to another.
func (r *resolver) leadsTo(from, to string, seen map[string]bool) bool {
	if from == to {
		return true
	}
	seen[from] = true
	for ref := range References(r.referring[from]) {
		if next := CleanName(ref); !seen[next] && r.leadsTo(next, to, seen) {
			return true
		}
	}
	return false
}

func (r *resolver) warn(name, ref string, diagnostic WarningKind) {
	if r.lint {
		r.warnings = append(r.warnings, Warning{name, ref, diagnostic})
	}
}

// WarningKind is the kind of problem with a reference in an env or meta block.
type WarningKind int

const (
	// SiblingReference is a reference to another variable of the same block.
	// Nomad resolves it in some runs only.
	SiblingReference WarningKind = iota
	// CyclicReference is a reference that leads back to its own variable.
	CyclicReference
	// UnknownReference is a reference that nothing resolves. It remains text,
	// which is correct if it was escaped as $${name}.
	UnknownReference
)

// Warning is about a reference in the env or meta block of a task.
type Warning struct {
	Variable  string // contains the reference; cleaned name
	Reference string // without ${ and }
	Kind      WarningKind
}

// String returns the warning as a sentence without a full stop.
func (w Warning) String() string {
	switch w.Kind {
	case SiblingReference:
		return fmt.Sprintf("%s refers to %s of the same block, which Nomad resolves only by chance", w.Variable, w.Reference)
	case CyclicReference:
		return fmt.Sprintf("%s and %s refer to each other, so ${%s} stays as text", w.Variable, w.Reference, w.Reference)
	default:
		return fmt.Sprintf("%s refers to %s, which is not known, so ${%s} stays as text", w.Variable, w.Reference, w.Reference)
	}
}
