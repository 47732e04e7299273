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

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/drivers/rawexec"
	"taskrun/drivers/schema"
)

// Command converts a decoded config block to the command of the task and the
// arguments that precede its args.
type Command func(config cty.Value) (command string, args []string, err error)

// isolation lists the known options that have no effect, because there is no
// isolation.
var isolation = []string{"pid_mode", "ipc_mode", "cap_add", "cap_drop"}

// New returns a driver without tasks. In addition to its options, a config
// block has the common ones: args, work_dir, pid_mode, ipc_mode, cap_add and
// cap_drop.
func New(name string, options hcldec.ObjectSpec, command Command, fingerprint func() drivers.Fingerprint) *rawexec.Driver {
	return rawexec.NewOf(rawexec.Kind{
		Name: name,
		TaskSchema: schema.Join(options,
			schema.Optional(cty.String, "work_dir", "pid_mode", "ipc_mode"),
			schema.Optional(schema.Texts, "args", "cap_add", "cap_drop")),
		ConfigSchema: rawexec.DeniedHostIDs,
		Fingerprint:  fingerprint,
		Decode:       command.decode,
		Unisolated:   isolation,
	})
}

func (command Command) decode(config cty.Value, taskDir string) (*rawexec.TaskConfig, error) {
	for _, name := range []string{"pid_mode", "ipc_mode"} {
		if mode := Text(config, name); !slices.Contains([]string{"", "private", "host"}, mode) {
			return nil, fmt.Errorf("failed driver config validation: %s must be %q or %q, got %q", name, "private", "host", mode)
		}
	}
	name, args, err := command(config)
	if err != nil {
		return nil, err
	}
	c := &rawexec.TaskConfig{Command: name, Args: append(args, Texts(config, "args")...)}
	if dir := Text(config, "work_dir"); dir != "" {
		c.WorkDir = new(below(taskDir, dir))
	}
	return c, nil
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

// Text returns a string option, or "" if it is not set.
func Text(config cty.Value, name string) string {
	val := config.GetAttr(name)
	if val.IsNull() {
		return ""
	}
	return val.AsString()
}

// Texts returns an option that is a list of strings. A null element is "".
func Texts(config cty.Value, name string) []string {
	val := config.GetAttr(name)
	if val.IsNull() {
		return nil
	}
	var list []string
	for _, item := range val.AsValueSlice() {
		text := ""
		if !item.IsNull() {
			text = item.AsString()
		}
		list = append(list, text)
	}
	return list
}
