package taskenv

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/zclconf/go-cty/cty"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	value, err := configEnv().DecodeConfig(fromJSON(t, `{
		"command": "sh", "args": ["-c", "${GREETING}"], "run_for": "1.5s", "code": 3, "tty": "true",
		"labels": [{"a": "${N}"}], "ulimit": {"nofile": 5},
		"exec_command": [{"run_for": "300ms"}],
		"mount": [{"target": "/a"}, {"target": "/b", "options": {"ro": true}}]
	}`), scriptSchema)
	if err != nil {
		t.Fatal(err)
	}
	got := script{Sysctl: map[string]string{"kept": "as it was"}}
	if err := Decode(value, &got); err != nil {
		t.Fatal(err)
	}
	want := script{
		Command: "sh", Args: []string{"-c", "hello"}, RunFor: 1500 * time.Millisecond, Code: new(3), TTY: true,
		Labels: map[string]string{"a": "41"}, Ulimit: []map[string]string{{"nofile": "5"}}, Signal: "SIGINT",
		Exec:   &scriptExec{RunFor: 300 * time.Millisecond},
		Mounts: []scriptMount{{Target: "/a"}, {Target: "/b", Options: map[string]string{"ro": "true"}}},
		Sysctl: map[string]string{"kept": "as it was"},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreTypes(cty.Value{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !got.Auth.IsNull() {
		t.Errorf("auth = %#v", got.Auth)
	}
}

func TestDecodeFaults(t *testing.T) {
	t.Parallel()
	object := func(name string, v cty.Value) cty.Value { return cty.ObjectVal(map[string]cty.Value{name: v}) }
	for _, tc := range []struct {
		name  string
		value cty.Value
		into  any
		want  string
	}{
		{"no unit", object("run_for", cty.StringVal("10")), &scriptExec{}, `cannot decode config: option "run_for": time: missing unit in duration "10"`},
		{"number as duration", object("run_for", cty.NumberIntVal(1)), &scriptExec{}, `option "run_for": a duration is a string, not number`},
		{"fraction as int", object("code", cty.NumberFloatVal(1.5)), &script{}, `option "code": value must be a whole number`},
		{"option without a field", object("nope", cty.True), &script{}, `option "nope" has no field in taskenv.script`},
		{"text as list", object("args", cty.StringVal("x")), &script{}, `option "args": need a list, not string`},
		{"list as map", object("labels", cty.EmptyTupleVal), &script{}, `option "labels": need a map, not tuple`},
		{"map as list", object("args", cty.MapValEmpty(cty.String)), &script{}, `option "args": need a list, not map of string`},
		{"text as block", object("exec_command", cty.StringVal("x")), &script{}, `option "exec_command": need an object, not string`},
		{"element", object("args", cty.TupleVal([]cty.Value{cty.EmptyObjectVal})), &script{}, `option "args": element 0:`},
		{"key", object("labels", object("k", cty.EmptyObjectVal)), &script{}, `option "labels": key "k":`},
		{"not known", object("command", cty.UnknownVal(cty.String)), &script{}, `option "command": the value is not known`},
		{"no pointer", cty.EmptyObjectVal, script{}, "need a pointer, not taskenv.script"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if err := Decode(tc.value, tc.into); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}
