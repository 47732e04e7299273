package rehearsal

import (
	"errors"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

func object(pairs ...any) cty.Value {
	attrs := map[string]cty.Value{}
	for i := 0; i < len(pairs); i += 2 {
		attrs[pairs[i].(string)] = pairs[i+1].(cty.Value)
	}
	return cty.ObjectVal(attrs)
}

func TestReadOptions(t *testing.T) {
	t.Parallel()
	got, err := Read(object(
		"run_for", cty.StringVal("forever"), "exit_code", cty.StringVal("3"), "stdout_repeat", cty.NumberIntVal(2),
		"kill_after", cty.NullVal(cty.String), "exec_command", object("exit_code", cty.NumberIntVal(1)),
	), object("stderr_string", cty.StringVal("e"), "exit_code", cty.NumberIntVal(1)))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]cty.Value{
		"run_for": cty.StringVal(Forever.String()), "exit_code": cty.NumberIntVal(3), "stdout_repeat": cty.NumberIntVal(2),
		"stderr_string": cty.StringVal("e"),
	}
	values := got.AsValueMap()
	for name, v := range want {
		if !values[name].RawEquals(v) {
			t.Errorf("%s is %#v", name, values[name])
		}
	}
	if len(values) != len(want)+1 || !(Script{Options: got}).RunsOn() {
		t.Errorf("the options are %#v", got)
	}
	if got, err := Read(cty.EmptyObjectVal, cty.NilVal); err != nil || got.LengthInt() != 0 {
		t.Errorf("no options: %#v, %v", got, err)
	}
}

func TestReadWrongOptions(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]cty.Value{
		"run_fro":         cty.StringVal("1s"),
		"run_for":         cty.StringVal("soon"),
		"start_block_for": cty.StringVal("forever"),
		"exit_code":       cty.NumberFloatVal(1.5),
		"stdout_string":   cty.EmptyObjectVal,
		"exit_signal":     cty.StringVal("SIGKILL"),
		"driver_port_map": cty.StringVal("http"),
		"exec_command":    object("run_for", cty.StringVal("x")),
	} {
		_, err := Read(object(name, value), cty.NilVal)
		if wrong, ok := errors.AsType[*OptionError](err); !ok || wrong.Option != name {
			t.Errorf("%s = %#v: %v", name, value, err)
		}
	}
	for range 20 { // the order of several options does not matter
		_, err := Read(cty.ObjectVal(map[string]cty.Value{"a": cty.True, "b": cty.True, "c": cty.True, "d": cty.True}), cty.NilVal)
		if wrong, ok := errors.AsType[*OptionError](err); !ok || wrong.Option != "a" {
			t.Fatalf("several wrong options: %v", err)
		}
	}
	if _, err := Read(object("exec_command", object("run_fro", cty.StringVal("1s"))), cty.NilVal); err == nil {
		t.Error("an unknown option of a block is no error")
	}
	if _, err := Read(object("run_for", cty.UnknownVal(cty.String)), cty.NilVal); err == nil {
		t.Error("an unknown value is no error")
	}
	if _, err := Read(cty.StringVal("x"), cty.NilVal); err == nil {
		t.Error("a string is no error")
	}
}

func TestLag(t *testing.T) {
	t.Parallel()
	s := Script{Lag: Lag{Start: 2, Run: 3}}
	for _, c := range []struct{ name, value, want string }{
		{"run_for", "1s", "1.000000003s"},
		{"run_for", "", "3ns"},
		{"run_for", "0s", "3ns"},
		{"run_for", Forever.String(), Forever.String()},
		{"run_for", "x", "x"},
		{"start_block_for", "1s", "1.000000002s"},
		{"start_block_for", "0s", "2ns"},
		{"start_block_for", "", "2ns"},
		{"plugin_exit_after", "", ""},
		{"plugin_exit_after", "1m", "1m0.000000003s"},
		{"kill_after", "1s", "1s"},
		{"stdout_string", "1s", "1s"},
	} {
		if got := s.late(object(c.name, cty.StringVal(c.value))).GetAttr(c.name).AsString(); got != c.want {
			t.Errorf("%s %q becomes %q, not %q", c.name, c.value, got, c.want)
		}
	}
	for name, want := range map[string]string{"run_for": "3ns", "start_block_for": "2ns"} {
		for _, options := range []cty.Value{object("exit_code", cty.NumberIntVal(1)), object(name, cty.NullVal(cty.String))} {
			if got := s.late(options).GetAttr(name).AsString(); got != want {
				t.Errorf("without %s it is %s", name, got)
			}
		}
	}
}
