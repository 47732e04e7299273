package stub

import (
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
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

// localToken is the token of tasks if the file defines none. It grants no
// access, and its text shows where it comes from.
const localToken = "taskrun-local-token"

// None is the Set of a job without a stubs file.
func None() *Set { return &Set{VaultToken: localToken, ConsulToken: localToken} }

// Service is an instance of a service that runs elsewhere.
type Service struct {
	Name      string            `hcl:",label"`
	Provider  string            `hcl:"provider,optional"`  // nomad or consul; empty: either
	Namespace string            `hcl:"namespace,optional"` // empty: all
	Address   string            `hcl:"address,optional"`
	Port      int               `hcl:"port"`
	Tags      []string          `hcl:"tags,optional"`
	Meta      map[string]string `hcl:"meta,either"`

	Placeholder bool // a value is still to be filled in
}

// ID returns the unique ID of the instance.
func (s Service) ID() string {
	return "_local-" + s.Name + "-" + net.JoinHostPort(s.Address, strconv.Itoa(s.Port))
}

// Node adds to the measured description of the machine. Empty fields change
// nothing.
type Node struct {
	Name       string            `hcl:"name,optional"`
	Class      string            `hcl:"class,optional"`
	Pool       string            `hcl:"pool,optional"`
	Datacenter string            `hcl:"datacenter,optional"`
	Meta       map[string]string `hcl:"meta,either"`
	Attributes map[string]string `hcl:"attributes,either"`
}

// HostVolume is a directory of this machine.
type HostVolume struct {
	Path     string `hcl:"path"` // absolute
	ReadOnly bool   `hcl:"read_only,optional"`

	Placeholder bool // the path is still to be filled in
}

// Artifact replaces parts of the artifacts with a source.
type Artifact struct {
	Label   string            `hcl:",label"`          // their source in the job file
	Source  string            `hcl:"source,optional"` // without credentials of the job file; empty: unchanged
	Options map[string]string // added
	Headers map[string]string // added
	At      jobspec.Range
}

// Group overrides parts of a group of the job file.
type Group struct {
	Target      string `hcl:",label"`         // JOB/GROUP, or GROUP
	Count       *int   `hcl:"count,optional"` // nil: unchanged
	Constraints []Constraint
	Ports       []Port
	Resources   *Resources `hcl:"resources,block"` // of each task; nil: unchanged
	At          jobspec.Range
}

// IsFor reports whether the block names a job: JOB/GROUP.
func (o Group) IsFor(job string) bool { return strings.HasPrefix(o.Target, job+"/") }

// Constraint replaces those of a group, of its job and of its tasks that have the
// same attribute.
type Constraint struct {
	api.Constraint

	At jobspec.Range
}

// Port overrides a port of a group.
type Port struct {
	Label  string `hcl:",label"`
	Static *int   `hcl:"static,optional"` // 0: any free port; nil: unchanged
	To     *int   `hcl:"to,optional"`     // nil: unchanged
	At     jobspec.Range
}

// Resources override those of a task; nil fields change nothing.
type Resources struct {
	CPU       *int `hcl:"cpu,optional"`
	Cores     *int `hcl:"cores,optional"`
	Memory    *int `hcl:"memory,optional"`
	MemoryMax *int `hcl:"memory_max,optional"`
}

// Task overrides parts of a task of the job file.
type Task struct {
	Target    string            `hcl:",label"`          // JOB/GROUP/TASK, or a suffix of it
	Driver    string            `hcl:"driver,optional"` // empty: unchanged
	Config    map[string]any    `hcl:"config,block"`
	Env       map[string]string `hcl:"env,either"`    // added
	User      *string           `hcl:"user,optional"` // nil: unchanged
	Rehearsal *Rehearsal        // nil: depends on the lifecycle of the task
	Resources *Resources        `hcl:"resources,block"` // nil: unchanged
	Watches   []Watch
	At        jobspec.Range
}

// isFor reports whether the block is for a task, JOB/GROUP/TASK.
func (o Task) isFor(path string) bool {
	return o.Target == path || strings.HasSuffix(path, "/"+o.Target)
}

// Rehearsal is how a task behaves in a rehearsal.
type Rehearsal struct {
	RunFor   time.Duration
	ExitCode int
}

// Watch says what happens with a task while the files that it is made of change.
type Watch struct {
	Dir    string   // absolute: paths are relative to it, and the build runs in it
	Paths  []string `hcl:"paths"`           // patterns, see glob.Match
	Ignore []string `hcl:"ignore,optional"` // patterns, see glob.Ignored
	Build  []string `hcl:"build,optional"`  // command and arguments; empty: there is no build
	Change Change   `hcl:"on_change,optional"`
	Signal string   `hcl:"change_signal,optional"` // for the change "signal"
	At     jobspec.Range
}

// Change is the reaction of a task to changed files.
type Change string

// The changes, named as the change_mode of templates.
const (
	ChangeRestart Change = "restart"
	ChangeSignal  Change = "signal"
	ChangeNoop    Change = "noop"
)

// Todo is a placeholder: a value that is still to be filled in.
type Todo struct {
	Need

	Name string
	At   jobspec.Range

	block hcl.Range // header
}
