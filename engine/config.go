package engine

import (
	"math"
	"syscall"
	"time"

	"taskrun/drivers"
	"taskrun/engine/leaf/chance"
	"taskrun/engine/leaf/service"
	"taskrun/engine/leaf/variable"
	"taskrun/engine/port"
	"taskrun/hooks"
	"taskrun/jobspec/taskenv"
)

// Config configures an engine.
type Config struct {
	DataDir string                    // directory of the runs; see datadir
	Drivers map[string]drivers.Driver // by name
	Hooks   hooks.Catalog
	Node    *taskenv.Node // for ${node.…} and ${attr.…}
	HostEnv []string      // "K=V", inherited by tasks
	// Services is where hooks register the services of tasks; nil if none do.
	Services *service.Catalog
	// Variables holds the Nomad variables that tasks may read; nil if there are
	// none.
	Variables *variable.Store
	// PortDir is where the engines of this user record the ports they have
	// assigned, so that each can avoid the others'. If empty, they do not.
	PortDir string
	// Ports are the ports that jobs may have.
	Ports port.Rules
	// LogicalPorts says that nothing listens on assigned ports, so other
	// programs may use them, too.
	LogicalPorts bool
	// MaxKillTimeout caps kill_timeout; 0 means 30s, Nomad's default of
	// max_kill_timeout.
	MaxKillTimeout time.Duration
	// Chance gives IDs and random numbers; its zero value gives random ones. With
	// a seed it is for one engine only, which must not be recovered.
	Chance chance.Source
	// MaxAllocs is how many allocations a job may have; 0 means
	// validate.DefaultMaxAllocs.
	MaxAllocs int
	// Durable makes the engine store everything that a later engine needs to
	// continue its runs; see Recover. Without it, run directories contain only
	// what tasks write.
	Durable bool
	// Resident makes an engine that runs any number of jobs until it is told to
	// Leave or Stop: it takes new jobs at any time (see Register), keeps those
	// that have ended, and obeys namespaces. It is Durable, and needs a StateDir.
	Resident bool
	// Patient makes jobs wait for another version when everything of them has ended,
	// until they are stopped.
	Patient bool
	// StateDir is where the registry is kept; empty: in memory. The caller must
	// lock it: only one engine may use a directory at a time.
	StateDir string
	// NoHistory makes the engine write no events to disk. It has no effect if the
	// engine is Durable.
	NoHistory bool
	// OnRun, if set, is called with the directory of each run before anything
	// is written to it. It lets the keeper know what to clean up if this
	// program is killed.
	OnRun func(dir string)
}

// defaultMaxKillTimeout is Nomad's default of the client's max_kill_timeout.
const defaultMaxKillTimeout = 30 * time.Second

// repeats reports whether a run with the same jobs and the same seed would be the
// same: nothing of it depends on the machine.
func (c *Config) repeats() bool { return c.Chance.Seeded() && c.LogicalPorts }

// fileLimit returns how many descriptors living jobs may have. The tasks of
// rehearsals open few.
func (c *Config) fileLimit() int {
	var limit syscall.Rlimit
	if c.LogicalPorts || syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return math.MaxInt
	}
	most := int(min(limit.Cur, math.MaxInt32)) //nolint:gosec // below 1<<31
	return most - most/8
}
