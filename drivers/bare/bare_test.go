package bare_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/drivers/bare"
	"taskrun/drivers/drivertest"
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
	for config, want := range map[string]string{
		"":                            broken.Error(),
		`command = "no-such-program"`: `binary "no-such-program" could not be found`,
		"command = \"true\"\npid_mode = \"mine\"": `failed driver config validation: pid_mode must be "private" or "host", got "mine"`,
		"command = \"true\"\nipc_mode = \"mine\"": `failed driver config validation: ipc_mode must be "private" or "host", got "mine"`,
	} {
		cfg, _ := drivertest.Task(t, d, config)
		handle, _, err := d.StartTask(t.Context(), cfg)
		if err == nil || !strings.Contains(err.Error(), want) || handle != nil {
			t.Errorf("%q: handle %v, %v, want %q", config, handle, err, want)
		}
	}
	cfg, _ := drivertest.Task(t, d, "")
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
