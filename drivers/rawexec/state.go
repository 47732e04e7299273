package rawexec

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/drivers/cgroup"
	"taskrun/drivers/process"
	"taskrun/drivers/procstats"
	"taskrun/drivers/schema"
	"taskrun/drivers/taskstore"
)

// Kind defines a driver whose tasks are processes of this machine.
type Kind struct {
	Name         string
	TaskSchema   func() hcldec.ObjectSpec // of a task's config block
	ConfigSchema func() hcldec.ObjectSpec // options shared with raw_exec
	Fingerprint  func() drivers.Fingerprint

	// Decode converts a task's config block, an object, to the command to run.
	Decode func(config cty.Value, taskDir string) (*TaskConfig, error)

	// Unisolated are task options about isolation that have an effect in Nomad
	// but not here; nil if Nomad's driver does not isolate either.
	Unisolated []string
}

var rawExec = Kind{
	Name: "raw_exec", TaskSchema: taskSchema, ConfigSchema: schema.Of[options], Decode: decodeConfig,
	Fingerprint: func() drivers.Fingerprint { return drivers.Healthy("raw_exec") },
}

// Driver is a driver of a kind. Its methods are safe for concurrent use. The
// caller must call Shutdown at the end.
type Driver struct {
	tasks // WaitTask and InspectTask

	kind                   Kind
	options                options
	deniedUIDs, deniedGIDs IDRanges // of users that no task may run as, and of their groups
	run                    *process.Run
	census                 census
	groups                 *cgroup.Tree // nil: memory limits are not enforced
	closed                 sync.Once    // groups
}

type tasks = taskstore.Store[*task]

// New returns a raw_exec driver without tasks.
func New() *Driver { return NewOf(rawExec) }

// NewOf returns a driver of a kind, without tasks.
func NewOf(kind Kind) *Driver { return &Driver{kind: kind, run: process.NewRun()} }

// task is a command that was started.
type task struct {
	*taskstore.Life
	spec    process.Spec // without files and variables, for commands in the task
	environ func() []string
	process *process.Process
	config  *TaskConfig
	group   *cgroup.Group // nil if it needs none

	mu       sync.Mutex
	commands map[*process.Process]bool // running in the task; see command

	stats      sync.Mutex // serializes samples
	sampler    procstats.Sampler
	lastSample *drivers.TaskResourceUsage
	sampledAt  time.Time
}

func closeFiles(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// newTask returns a task without a process.
func (d *Driver) newTask(cfg *drivers.TaskConfig, c *TaskConfig, as *account) *task {
	t := &task{Life: taskstore.NewLife(cfg.Name), config: c, commands: map[*process.Process]bool{}}
	t.spec.Dir = cfg.TaskDir()
	t.environ = func() []string {
		return environment(cfg.Env, as, slices.Concat(d.options.DeniedEnvvars, c.DeniedEnvvars))
	}
	if as != nil && !as.isUs() {
		t.spec.Credential = as.credential
	}
	if c.WorkDir != nil {
		t.spec.Dir = *c.WorkDir
	}
	return t
}

// began records the process of the task.
func (t *task) began(p *process.Process, at time.Time) {
	t.process, t.StartedAt, t.Attributes = p, at, map[string]string{"pid": strconv.Itoa(p.Pid())}
}

// ended records how the command's process ended. If it failed, and the kernel
// killed one of its processes for memory, the task was out of memory.
func (t *task) ended(status process.Status, at time.Time) {
	t.Set(drivers.ExitResult{
		ExitCode: status.ExitCode, Signal: status.Signal, Err: status.Err,
		OOMKilled: t.group != nil && status.ExitCode != 0 && t.group.OOMKills() > 0, PeakMemory: status.PeakRSS,
	}, at)
}

// census is the latest survey of all processes. A thousand tasks share one
// survey.
type census struct {
	mu    sync.Mutex
	at    time.Time
	trees map[*process.Process][]int
}

// reason returns an error without the operation and the path that package os
// adds.
func reason(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}
