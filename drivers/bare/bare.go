// Package bare runs the tasks of drivers that isolate them in Nomad (exec, java)
// as raw_exec does: as processes of this machine, without isolation. Whatever
// concerns the processes is raw_exec's; what such a driver adds is how its
// config block becomes a command.
package bare

import (
	"context"
	"errors"
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

// Kind is what makes one such driver.
type Kind struct {
	Name string

	// Options are those of a task's config block beside the common ones:
	// args, work_dir, pid_mode, ipc_mode, cap_add and cap_drop.
	Options hcldec.ObjectSpec

	// Command turns a decoded config block into the command of the task and
	// the arguments that stand before its args.
	Command func(config cty.Value) (command string, args []string, err error)

	// Fingerprint tells how the driver is; that does not change.
	Fingerprint func() drivers.Fingerprint
}

// Driver is a driver of a kind. Its methods may be called from several
// goroutines at once. Shutdown must be called in the end.
type Driver struct {
	*rawexec.Driver
	kind    Kind
	options hcldec.ObjectSpec
}

var (
	_ drivers.Driver         = (*Driver)(nil)
	_ drivers.Configurable   = (*Driver)(nil)
	_ drivers.Signaler       = (*Driver)(nil)
	_ drivers.StreamExecer   = (*Driver)(nil)
	_ drivers.StatsCollector = (*Driver)(nil)
	_ drivers.Recoverer      = (*Driver)(nil)
	_ drivers.Shutdowner     = (*Driver)(nil)
)

// New returns a driver without tasks.
func New(kind Kind) *Driver {
	options := schema.Join(kind.Options,
		schema.Optional(cty.String, "work_dir", "pid_mode", "ipc_mode"),
		schema.Optional(schema.Texts, "args", "cap_add", "cap_drop"))
	return &Driver{Driver: rawexec.New(rawexec.Config{}), kind: kind, options: options}
}

// Isolation are the options that are known and not carried out, for there is
// no isolation.
func Isolation() []string { return []string{"pid_mode", "ipc_mode", "cap_add", "cap_drop"} }

// Info names the driver.
func (d *Driver) Info() drivers.Info { return drivers.Info{Name: d.kind.Name, Version: "0.1.0"} }

// TaskConfigSchema describes the config block.
func (d *Driver) TaskConfigSchema() hcldec.Spec { return d.options }

// Fingerprint tells whether the driver can be used; that never changes.
func (d *Driver) Fingerprint(ctx context.Context) (<-chan drivers.Fingerprint, error) {
	return drivers.Steady(ctx, d.kind.Fingerprint())
}

// pluginOptions are those of raw_exec's that Nomad's driver has as well.
var pluginOptions = []string{"denied_host_uids", "denied_host_gids"}

// ConfigSchema describes the options of the driver.
func (d *Driver) ConfigSchema() hcldec.Spec {
	all := d.Driver.ConfigSchema().(hcldec.ObjectSpec)
	some := hcldec.ObjectSpec{}
	for _, name := range pluginOptions {
		some[name] = all[name]
	}
	return some
}

// SetConfig takes the options of the driver.
func (d *Driver) SetConfig(config cty.Value) error {
	return d.Driver.SetConfig(object(d.Driver.ConfigSchema(), config.AsValueMap()))
}

// StartTask starts the command that the config block stands for.
func (d *Driver) StartTask(ctx context.Context, cfg *drivers.TaskConfig) (*drivers.TaskHandle, *drivers.Network, error) {
	raw, err := d.raw(cfg)
	if err != nil {
		return nil, nil, err
	}
	handle, network, err := d.Driver.StartTask(ctx, raw)
	if err != nil {
		return nil, nil, err
	}
	handle.Config = cfg
	return handle, network, nil
}

// RecoverTask finds a task again that was started as raw_exec does.
func (d *Driver) RecoverTask(handle *drivers.TaskHandle) error {
	if handle == nil || handle.Config == nil {
		return errors.New("cannot recover a task without a handle")
	}
	raw, err := d.raw(handle.Config)
	if err != nil {
		return err
	}
	as := *handle
	as.Config = raw
	return d.Driver.RecoverTask(&as)
}

// raw returns the task as raw_exec understands it.
func (d *Driver) raw(cfg *drivers.TaskConfig) (*drivers.TaskConfig, error) {
	if cfg.Config == cty.NilVal || !cfg.Config.Type().IsObjectType() || cfg.Config.IsNull() {
		return nil, fmt.Errorf("failed to decode driver config: it is no object")
	}
	for _, name := range []string{"pid_mode", "ipc_mode"} {
		if mode := Text(cfg.Config, name); !slices.Contains([]string{"", "private", "host"}, mode) {
			return nil, fmt.Errorf("failed driver config validation: %s must be %q or %q, got %q", name, "private", "host", mode)
		}
	}
	command, args, err := d.kind.Command(cfg.Config)
	if err != nil {
		return nil, err
	}
	values := map[string]cty.Value{"command": cty.StringVal(command)}
	if args = append(args, Texts(cfg.Config, "args")...); len(args) > 0 {
		list := make([]cty.Value, len(args))
		for i, arg := range args {
			list[i] = cty.StringVal(arg)
		}
		values["args"] = cty.ListVal(list)
	}
	if dir := Text(cfg.Config, "work_dir"); dir != "" {
		values["work_dir"] = cty.StringVal(below(cfg.TaskDir(), dir))
	}
	raw := *cfg
	raw.Config = object(d.Driver.TaskConfigSchema(), values)
	return &raw, nil
}

// below returns the directory in the task's own that a path means in Nomad,
// where that is the root, or the path itself if there is none.
func below(taskDir, path string) string {
	inside := filepath.Join(taskDir, path)
	if info, err := os.Stat(inside); filepath.IsAbs(path) && err == nil && info.IsDir() {
		return inside
	}
	return path
}

// object is a value of a schema's type, with null for what values lacks.
func object(schema hcldec.Spec, values map[string]cty.Value) cty.Value {
	all := map[string]cty.Value{}
	for name, ty := range hcldec.ImpliedType(schema).AttributeTypes() {
		all[name] = cty.NullVal(ty)
		if val, ok := values[name]; ok {
			all[name] = val
		}
	}
	return cty.ObjectVal(all)
}

// Text returns an option that is a string, "" where it is not set.
func Text(config cty.Value, name string) string {
	val := config.GetAttr(name)
	if val.IsNull() {
		return ""
	}
	return val.AsString()
}

// Texts returns an option that is a list of strings. A null in it is "".
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
