package drivers

import (
	"context"
	"time"
)

// Recoverer is a driver that can find a task again that it, or an earlier
// instance of it, has started.
type Recoverer interface {
	// RecoverTask registers the task of a handle again. A task that is
	// registered and runs is no error; one that cannot be found is.
	RecoverTask(handle *TaskHandle) error
}

// Execer is a driver that can run a command in a running task and capture its
// output, as script checks and change scripts need it.
type Execer interface {
	// ExecTask runs a command with the task's environment and directory and
	// returns when it has ended. A code other than 0 is no error. When ctx
	// ends the command is killed.
	ExecTask(ctx context.Context, id string, cmd []string) (*ExecTaskResult, error)
}

// ExecTaskResult is what a command in a task did.
type ExecTaskResult struct {
	Stdout []byte // the last 4 KiB
	Stderr []byte // likewise; empty where the driver mixes the two
	ExitResult
}

// StatsCollector is a driver that can tell what a task uses.
type StatsCollector interface {
	// TaskStats sends a first sample at once and then one every interval,
	// until ctx or the task ends, when the channel is closed.
	TaskStats(ctx context.Context, id string, interval time.Duration) (<-chan *TaskResourceUsage, error)
}

// TaskResourceUsage is what the processes of a task use together.
type TaskResourceUsage struct {
	Time        time.Time
	RSS         uint64  // resident memory, bytes
	CPUPercent  float64 // of one core
	TotalTicks  float64 // MHz
	Processes   int
	MemoryLimit int64 // bytes that the job allows; 0: no limit
}

// Mount is a file or directory of the host that a task sees at a path of its
// own.
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
