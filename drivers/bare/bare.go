// Package bare runs the tasks of drivers that isolate them in Nomad (exec,
// java) like raw_exec: as processes of this machine, without isolation.
// raw_exec handles the processes; such a driver only converts its config block
// to a command.
package bare

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/drivers/rawexec"
	"taskrun/drivers/schema"
	"taskrun/jobspec/taskenv"
)

// Options are the options that such drivers share. The options of a driver embed
// them.
type Options struct {
	Args    []string `cty:"args"`
	WorkDir string   `cty:"work_dir"`

	// Options about isolation have no effect.
	PIDMode string   `cty:"pid_mode"`
	IPCMode string   `cty:"ipc_mode"`
	CapAdd  []string `cty:"cap_add"`
	CapDrop []string `cty:"cap_drop"`
}

// New returns a driver without tasks. Command returns the shared ones among the
// options of a task, and the command with the arguments that precede its args.
func New[T any](name string, command func(*T) (Options, []string, error), fingerprint func() drivers.Fingerprint) *rawexec.Driver {
	return rawexec.NewOf(rawexec.Kind{
		Name:         name,
		TaskSchema:   sync.OnceValue(schema.Of[T]),
		ConfigSchema: schema.Of[rawexec.HostOptions],
		Fingerprint:  fingerprint,
		Decode: func(config cty.Value, taskDir string) (*rawexec.TaskConfig, error) {
			var options T
			if err := taskenv.Decode(config, &options); err != nil {
				return nil, fmt.Errorf("failed to decode driver config: %w", err)
			}
			shared, argv, err := command(&options)
			if invalid := shared.validate(); invalid != nil {
				return nil, invalid
			}
			if err != nil {
				return nil, err
			}
			return shared.run(argv, taskDir), nil
		},
		Unisolated: []string{"pid_mode", "ipc_mode", "cap_add", "cap_drop"},
	})
}

func (o *Options) validate() error {
	for _, mode := range []struct{ option, value string }{{"pid_mode", o.PIDMode}, {"ipc_mode", o.IPCMode}} {
		if !slices.Contains([]string{"", "private", "host"}, mode.value) {
			return fmt.Errorf("failed driver config validation: %s must be %q or %q, got %q", mode.option, "private", "host", mode.value)
		}
	}
	return nil
}

// run returns how raw_exec runs a command.
func (o *Options) run(argv []string, taskDir string) *rawexec.TaskConfig {
	c := &rawexec.TaskConfig{Command: argv[0], Args: append(argv[1:], o.Args...)}
	if o.WorkDir != "" {
		c.WorkDir = new(below(taskDir, o.WorkDir))
	}
	return c
}

// below returns the path in the task's directory, which is the root in Nomad,
// or the path itself if it does not exist there.
func below(taskDir, path string) string {
	inside := filepath.Join(taskDir, path)
	if info, err := os.Stat(inside); filepath.IsAbs(path) && err == nil && info.IsDir() {
		return inside
	}
	return path
}
