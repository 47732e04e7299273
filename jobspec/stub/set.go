package stub

import (
	"cmp"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

// DefaultName is the name of a stubs file beside a job file.
const DefaultName = "taskrun.hcl"

// A Set contains the stubs of a stubs file. It is immutable.
type Set struct {
	// File is the name of the file, for messages.
	File string

	// Reads are the files that the stubs file reads.
	Reads []string

	// Values are the values of variables of job files.
	Values map[string]jobspec.VariableValue

	// Services are services that run elsewhere.
	Services []Service

	// Node extends the description of this machine.
	Node Node

	// HostVolumes are the directories of host volumes, by name.
	HostVolumes map[string]HostVolume

	// Artifacts are changes to artifacts of job files.
	Artifacts []Artifact

	// Groups are changes to groups of job files.
	Groups []Group

	// Tasks are changes to tasks of job files.
	Tasks []Task

	// VaultToken and ConsulToken are the tokens of tasks. They are never empty.
	VaultToken, ConsulToken string

	// Todos are the placeholders, in the order of the file.
	Todos []Todo

	// filled is true for the result of Filled.
	filled bool

	// secretive is true if the file contains secrets.
	secretive bool

	variables map[variableKey]map[string]string
	keys      map[string]string
	secrets   map[string]map[string]any
}

type variableKey struct{ namespace, path string }

// keyOf splits the label of a Nomad variable, path@namespace.
func keyOf(label string) variableKey {
	path, namespace, _ := strings.Cut(label, "@")
	return variableKey{cmp.Or(namespace, "default"), strings.Trim(path, "/")}
}

// Service is an instance of a service that runs elsewhere.
type Service struct {
	Name      string
	Provider  string // nomad or consul; empty: either
	Namespace string // empty: all
	Address   string
	Port      int
	Tags      []string
	Meta      map[string]string

	Placeholder bool // a value is still to be filled in
}

// ID returns the unique ID of the instance.
func (s Service) ID() string {
	return "_local-" + s.Name + "-" + net.JoinHostPort(s.Address, strconv.Itoa(s.Port))
}

// Node adds to the measured description of the machine. Empty fields change
// nothing.
type Node struct {
	Name, Class, Pool, Datacenter string
	Meta, Attributes              map[string]string
}

// HostVolume is a directory of this machine.
type HostVolume struct {
	Path     string // absolute
	ReadOnly bool

	Placeholder bool // the path is still to be filled in
}

// Task overrides parts of a task of the job file.
type Task struct {
	Target    string // JOB/GROUP/TASK, or a suffix of it
	Driver    string // empty: unchanged
	Config    map[string]any
	Env       map[string]string // added
	User      *string           // nil: unchanged
	Rehearsal *Rehearsal        // nil: depends on the lifecycle of the task
	Resources *Resources        // nil: unchanged
	Watches   []Watch
	At        jobspec.Range
}

// Rehearsal is how a task behaves in a rehearsal.
type Rehearsal struct {
	RunFor   time.Duration
	ExitCode int
}

// Rehearsal returns how a task behaves in a rehearsal, or nil if no stub
// defines it.
func (s *Set) Rehearsal(job, group, task string) (found *Rehearsal) {
	for _, t := range s.Tasks {
		if t.Rehearsal != nil && t.isFor(job+"/"+group+"/"+task) {
			found = t.Rehearsal
		}
	}
	return found
}

// HostVolume returns the directory for a host volume. A placeholder names none.
func (s *Set) HostVolume(source string) (path string, readOnly, ok bool) {
	v, ok := s.HostVolumes[source]
	return v.Path, v.ReadOnly, ok && !v.Placeholder
}

// Variable returns the items of a Nomad variable.
func (s *Set) Variable(namespace, path string) (map[string]string, bool) {
	items, ok := s.variables[variableKey{namespace, path}]
	return items, ok
}

// Variables returns the Nomad variables, sorted by namespace and path.
func (s *Set) Variables() (found []*api.Variable) {
	for key, items := range s.variables {
		found = append(found, &api.Variable{Namespace: key.namespace, Path: key.path, Items: items})
	}
	slices.SortFunc(found, func(a, b *api.Variable) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Path, b.Path))
	})
	return found
}

// WithVariables returns a copy of s with the given Nomad variables instead of
// its own.
func (s *Set) WithVariables(variables []*api.Variable) *Set {
	with := *s
	with.variables = make(map[variableKey]map[string]string, len(variables))
	for _, v := range variables {
		with.variables[variableKey{v.Namespace, v.Path}] = v.Items
	}
	return &with
}

// VariablePaths returns the sorted paths of the Nomad variables in a namespace
// that start with prefix. The namespace "*" means all.
func (s *Set) VariablePaths(namespace, prefix string) (found []*api.VariableMetadata) {
	for key := range s.variables {
		if (namespace == "*" || key.namespace == namespace) && strings.HasPrefix(key.path, prefix) {
			found = append(found, &api.VariableMetadata{Namespace: key.namespace, Path: key.path})
		}
	}
	slices.SortFunc(found, func(a, b *api.VariableMetadata) int {
		return strings.Compare(a.Path+"\x00"+a.Namespace, b.Path+"\x00"+b.Namespace)
	})
	return found
}

// Key returns the value of a Consul key.
func (s *Set) Key(key string) (string, bool) {
	value, ok := s.keys[key]
	return value, ok
}

// Keys returns the sorted Consul keys that start with prefix.
func (s *Set) Keys(prefix string) (found []string) {
	for key := range s.keys {
		if strings.HasPrefix(key, prefix) {
			found = append(found, key)
		}
	}
	slices.Sort(found)
	return found
}

// isFor reports whether the block is for a task, JOB/GROUP/TASK.
func (o Task) isFor(path string) bool {
	return o.Target == path || strings.HasSuffix(path, "/"+o.Target)
}

// localToken is the token of tasks if the file defines none. It grants no
// access, and its text shows where it comes from.
const localToken = "taskrun-local-token"

// None is the Set of a job without a stubs file.
func None() *Set { return &Set{VaultToken: localToken, ConsulToken: localToken} }
