package runner

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
)

func TestStartRecordRoundTrip(t *testing.T) {
	t.Parallel()
	want := &drivers.TaskConfig{
		ID: "a/t/1", AllocID: "a", JobID: "j", JobName: "j", GroupName: "g", Name: "t", Namespace: "default",
		Env:  map[string]string{"PATH": "/bin", "ODD": "\xff\xfe", "EMPTY": ""},
		User: "nobody", AllocDir: "/data/a",
		Resources: drivers.Resources{CPU: 100, MemoryMB: 300, MemoryMaxMB: -1},
		Mounts:    []drivers.Mount{{HostPath: "/a", TaskPath: "/b", Readonly: true}},
		Devices:   []drivers.Device{{HostPath: "/dev/x", TaskPath: "/dev/y", Permissions: "rw"}},
		Config: cty.ObjectVal(map[string]cty.Value{
			"command": cty.StringVal("sh"),
			"args":    cty.ListVal([]cty.Value{cty.StringVal("-c"), cty.StringVal("é \"")}),
			"nothing": cty.NullVal(cty.Map(cty.String)),
			"number":  cty.MustParseNumberVal("12345678901234567890"),
			"blocks":  cty.SetVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"on": cty.True})}),
			"any":     cty.TupleVal([]cty.Value{cty.Zero, cty.EmptyObjectVal}),
		}),
	}
	record, err := newStartRecord(want)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	var back startRecord
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	got, err := back.config()
	if err != nil {
		t.Fatal(err)
	}
	if !got.Config.RawEquals(want.Config) {
		t.Errorf("config %#v, want %#v", got.Config, want.Config)
	}
	got.Config, want.Config = cty.NilVal, cty.NilVal
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// TestEveryFieldOfATaskConfigIsStored fails if a new field cannot be stored as
// JSON.
func TestEveryFieldOfATaskConfigIsStored(t *testing.T) {
	t.Parallel()
	replaced := map[string]bool{"Env": true, "Config": true, "Output": true, "Unwanted": true}
	var plain func(t reflect.Type) bool
	plain = func(t reflect.Type) bool {
		switch t.Kind() {
		case reflect.Interface, reflect.Func, reflect.Chan:
			return false
		case reflect.Pointer, reflect.Slice, reflect.Array:
			return plain(t.Elem())
		case reflect.Map:
			return plain(t.Key()) && plain(t.Elem())
		case reflect.Struct:
			for f := range t.NumField() {
				if !t.Field(f).IsExported() || !plain(t.Field(f).Type) {
					return false
				}
			}
		}
		return true
	}
	config := reflect.TypeFor[drivers.TaskConfig]()
	for i := range config.NumField() {
		if f := config.Field(i); !replaced[f.Name] && !plain(f.Type) {
			t.Errorf("field %s is not stored as it is: give startRecord a field in its place", f.Name)
		}
	}
}
