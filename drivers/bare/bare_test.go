package bare_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/drivers/bare"
	"taskrun/drivers/rawexec"
)

// TestErrors checks that an error in each step prevents starting and recovering
// a task.
func TestErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("no command today")
	type options struct {
		bare.Options
		Command string `cty:"command"`
	}
	d := bare.New("test", func(o *options) (bare.Options, []string, error) {
		if o.Command != "" {
			return o.Options, []string{o.Command}, nil
		}
		return o.Options, nil, broken
	}, nil)
	task := func(options map[string]string) *drivers.TaskConfig {
		return &drivers.TaskConfig{ID: "id", Name: "t", AllocDir: t.TempDir(), Config: block(d.TaskConfigSchema(), options)}
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
		if _, _, err := d.StartTask(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "it is not an object") {
			t.Errorf("with the config %#v: %v", config, err)
		}
	}
}

// block returns a config block with some string options.
func block(schema hcldec.Spec, options map[string]string) cty.Value {
	values := map[string]cty.Value{}
	for name, ty := range hcldec.ImpliedType(schema).AttributeTypes() {
		values[name] = cty.NullVal(ty)
	}
	for name, value := range options {
		values[name] = cty.StringVal(value)
	}
	return cty.ObjectVal(values)
}

// shell returns a driver whose tasks are shell commands.
func shell() *rawexec.Driver {
	type options struct {
		bare.Options
		Script string `cty:"script"`
	}
	return bare.New("shell",
		func(o *options) (bare.Options, []string, error) {
			return o.Options, []string{"/bin/sh", "-c", o.Script}, nil
		},
		func() drivers.Fingerprint {
			return drivers.Fingerprint{Health: drivers.HealthHealthy, Attributes: map[string]string{"driver.shell": "1"}}
		})
}

// TestFingerprint receives one fingerprint, because it never changes, and the
// end of the channel when the context ends.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := shell()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ch, err := d.Fingerprint(ctx)
		if err != nil {
			t.Fatal(err)
		}
		want := drivers.Fingerprint{Health: drivers.HealthHealthy, Attributes: map[string]string{"driver.shell": "1"}}
		if diff := cmp.Diff(want, <-ch); diff != "" {
			t.Error(diff)
		}
		synctest.Wait()
		select {
		case again, ok := <-ch:
			t.Errorf("it says %+v, %t while nothing changes", again, ok)
		default:
		}
		cancel()
		if again, ok := <-ch; ok {
			t.Errorf("it says %+v in the end", again)
		}
		if info := d.Info(); info.Name != "shell" {
			t.Errorf("its name is %q", info.Name)
		}
	})
}

// TestOptionsOfTheDriver checks that the driver has the options that deny
// accounts, and no others of raw_exec.
func TestOptionsOfTheDriver(t *testing.T) {
	t.Parallel()
	schema := shell().ConfigSchema()
	names := slices.Sorted(maps.Keys(hcldec.ImpliedType(schema).AttributeTypes()))
	if want := []string{"denied_host_gids", "denied_host_uids"}; !slices.Equal(names, want) {
		t.Errorf("it has %q, want %q", names, want)
	}
	uid, gid := os.Getuid(), os.Getgid()
	for _, c := range []struct{ option, ids, refused, denied string }{
		{option: "denied_host_uids", ids: strconv.Itoa(uid + 1)},
		{option: "denied_host_uids", ids: "many", refused: `cannot configure shell: denied_host_uids: range bound not valid: "many" in "many"`},
		{option: "denied_host_gids", ids: "many", refused: `cannot configure shell: denied_host_gids: range bound not valid: "many" in "many"`},
		{option: "denied_host_uids", ids: strconv.Itoa(uid), denied: fmt.Sprintf("running as uid %d is disallowed", uid)},
		{option: "denied_host_gids", ids: strconv.Itoa(gid), denied: fmt.Sprintf("running as uid %d with gid %d is disallowed", uid, gid)},
	} {
		d := shell()
		err := d.SetConfig(block(schema, map[string]string{c.option: c.ids}))
		if (err == nil) != (c.refused == "") || err != nil && err.Error() != c.refused {
			t.Errorf("%s %s: %v, want %q", c.option, c.ids, err, c.refused)
		}
		if c.refused != "" {
			continue
		}
		config := block(d.TaskConfigSchema(), map[string]string{"script": "true", "work_dir": "/nonexistent"})
		want := "cannot start in directory" // nothing starts here
		if c.denied != "" {
			want = c.denied
		}
		_, _, err = d.StartTask(t.Context(), &drivers.TaskConfig{ID: "id", Name: "t", AllocDir: t.TempDir(), Config: config})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s %s: a task that must not start: %v, want %q", c.option, c.ids, err, want)
		}
	}
}

// TestSchema has the options of a kind and the common ones, including those
// without an effect here.
func TestSchema(t *testing.T) {
	t.Parallel()
	names := slices.Sorted(maps.Keys(hcldec.ImpliedType(shell().TaskConfigSchema()).AttributeTypes()))
	want := []string{"args", "cap_add", "cap_drop", "ipc_mode", "pid_mode", "script", "work_dir"}
	if !slices.Equal(names, want) {
		t.Errorf("the options are %q, want %q", names, want)
	}
	for _, name := range shell().Unisolated() {
		if !slices.Contains(names, name) {
			t.Errorf("%s is not an option", name)
		}
	}
}
