package bare_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/drivers/bare"
)

// TestErrors of each step keep a task from starting, and from being found
// again.
func TestErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("no command today")
	d := bare.New(bare.Kind{
		Name:    "test",
		Options: hcldec.ObjectSpec{"command": &hcldec.AttrSpec{Name: "command", Type: cty.String}},
		Command: func(config cty.Value) (string, []string, error) {
			if command := bare.Text(config, "command"); command != "" {
				return command, nil, nil
			}
			return "", nil, broken
		},
	})
	task := func(options map[string]string) *drivers.TaskConfig {
		values := map[string]cty.Value{}
		for name, ty := range hcldec.ImpliedType(d.TaskConfigSchema()).AttributeTypes() {
			values[name] = cty.NullVal(ty)
		}
		for name, value := range options {
			values[name] = cty.StringVal(value)
		}
		return &drivers.TaskConfig{ID: "id", Name: "t", AllocDir: t.TempDir(), Config: cty.ObjectVal(values)}
	}
	for _, c := range []struct {
		options map[string]string
		want    string
	}{
		{nil, broken.Error()},
		{map[string]string{"command": "true"}, "failed to launch command with executor: cannot start in directory"},
		{map[string]string{"command": "true", "pid_mode": "mine"}, `failed driver config validation: pid_mode must be "private" or "host", got "mine"`},
		{map[string]string{"command": "true", "ipc_mode": "mine"}, `failed driver config validation: ipc_mode must be "private" or "host", got "mine"`},
	} {
		handle, _, err := d.StartTask(t.Context(), task(c.options))
		if err == nil || !strings.Contains(err.Error(), c.want) || handle != nil {
			t.Errorf("%v: handle %v, %v, want %q", c.options, handle, err, c.want)
		}
	}
	cfg := task(nil)
	if err := d.RecoverTask(&drivers.TaskHandle{Config: cfg}); !errors.Is(err, broken) {
		t.Errorf("finding it again: %v", err)
	}
	for _, handle := range []*drivers.TaskHandle{nil, {}} {
		if err := d.RecoverTask(handle); err == nil {
			t.Errorf("%+v is found again", handle)
		}
	}
	for _, config := range []cty.Value{cty.NilVal, cty.NullVal(cty.EmptyObject), cty.StringVal("true")} {
		cfg.Config = config
		if _, _, err := d.StartTask(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "it is no object") {
			t.Errorf("with the config %#v: %v", config, err)
		}
	}
}
