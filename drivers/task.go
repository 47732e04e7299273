package drivers

import (
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/taskenv"
)

// TaskConfig is everything that a driver needs to start a task.
type TaskConfig struct {
	ID          string // <alloc id>/<task name>/<8 hex digits>, new for every start
	AllocID     string
	Namespace   string
	JobName     string
	JobID       string
	ParentJobID string // of a periodic or dispatched job; else empty
	GroupName   string
	Name        string // name of the task
	NodeID      string
	NodeName    string

	Env       map[string]string // the whole environment, interpolated; read-only
	User      string            // empty: the user that runs taskrun
	Resources Resources
	AllocDir  string // allocation directory
	Mounts    []Mount
	Devices   []Device

	Ports     []taskenv.Port    // of the group
	TaskPorts []taskenv.Port    // of the task's deprecated network block
	Network   *NetworkIsolation // for the task to join; nil: the host's, or its own
	DNS       *DNS              // of the group; nil: like the host

	// Config is the task's config block, interpolated and decoded against the
	// driver's TaskConfigSchema.
	Config cty.Value

	// Output gives the task its stdout and stderr.
	Output Output

	// Unwanted is closed when the task should stop. A start may then be
	// abandoned, for example during a download, with ErrUnwanted. It may be
	// nil.
	Unwanted <-chan struct{}
}

// TaskDir returns the task's own directory, where a process starts by default.
func (c *TaskConfig) TaskDir() string { return filepath.Join(c.AllocDir, c.Name) }

// Resources are the resources of a task.
type Resources struct {
	CPU         int   // MHz; those of Cores if there are any
	Cores       []int // CPUs reserved for this task; nil: any
	MemoryMB    int   // MiB, the reservation
	MemoryMaxMB int   // MiB, the limit; 0: MemoryMB; -1: none
}

// MemoryLimitBytes returns the task's memory limit in bytes, or 0 for none.
func (r Resources) MemoryLimitBytes() int64 {
	if r.MemoryMaxMB < 0 {
		return 0
	}
	return int64(max(r.MemoryMB, r.MemoryMaxMB)) << 20
}

// Output opens a task's stdout and stderr. One of the two methods is called once
// for every start. The caller closes files as soon as the process has them, and
// writers when the task has ended.
type Output interface {
	// Files returns descriptors for a process to inherit.
	Files() (stdout, stderr *os.File, err error)
	// Writers returns writers, for a task that is not a process.
	Writers() (stdout, stderr io.WriteCloser, err error)
}

// TaskState is a task's state in its driver.
type TaskState string

// The states of a task in a driver.
const (
	TaskStateRunning TaskState = "running"
	TaskStateExited  TaskState = "exited"
)

// TaskHandle is everything that RecoverTask needs.
type TaskHandle struct {
	Version     int // chosen by the driver
	Config      *TaskConfig
	State       TaskState
	DriverState []byte // the driver's own, opaque; empty: see Recoverer
}

// Handle returns the first version of a handle of a running task.
func (c *TaskConfig) Handle(state []byte) *TaskHandle {
	return &TaskHandle{Version: 1, Config: c, State: TaskStateRunning, DriverState: state}
}

// TaskStatus is a snapshot of a task.
type TaskStatus struct {
	ID          string
	Name        string
	State       TaskState
	StartedAt   time.Time
	CompletedAt time.Time // zero while the task runs
	ExitResult  *ExitResult
	Attributes  map[string]string // e.g. "pid"
}

// ExitResult describes how a task ended.
type ExitResult struct {
	ExitCode  int // 128+n if a process was killed by signal n
	Signal    int // 0 for none
	OOMKilled bool
	Err       error // error of the driver, or an explanation

	// PeakMemory is the highest measured memory, in bytes; 0 if unknown.
	PeakMemory int64
}

// Successful reports whether the task ended with code 0, no signal and no
// error.
func (r *ExitResult) Successful() bool {
	return r.ExitCode == 0 && r.Signal == 0 && r.Err == nil
}

// Network is the address that a driver gave its task.
type Network struct {
	IP            string
	PortMap       map[string]int // port label → port inside the task
	AutoAdvertise bool           // services use IP by default
}

// Mount is a file or directory of the host at a path of the task.
type Mount struct {
	HostPath        string
	TaskPath        string
	Readonly        bool
	PropagationMode string // private, host-to-task or bidirectional
}

// Device is a device of the host that a task may use.
type Device struct {
	HostPath    string
	TaskPath    string
	Permissions string // of "rwm", as in cgroups
}
