package update

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"
)

// values maps the paths of all settings in a block and its nested blocks to
// their values, such as Count, Env[A], Config[args][0] or Resources.CPU. Unset
// fields are omitted.
type values map[string]string

// defaults are what a registration sets by itself, by path or the end of it. A version
// that an earlier taskrun has stored lacks them, which is no change.
var defaults = map[string]string{
	"DiskMB": "0", "IOPS": "0", "MemoryMaxMB": "0", "SecretsMB": "0", "HostNetwork": "default", "PreventRescheduleOnLost": "false",
	"Identity.Name": "default", "Identity.Audience[0]": "nomadproject.io", "Identity.Env": "false", "Identity.File": "false", "Identity.TTL": "0s",
}

// changes returns the paths at which two blocks differ.
func changes(before, after values) (paths []string) {
	all := maps.Clone(before)
	maps.Copy(all, after)
	for path := range all {
		was, had := before[path]
		is, has := after[path]
		if had != has || was != is {
			paths = append(paths, path)
		}
	}
	return paths
}

// valuesOf returns the values of a block, except the named fields.
func valuesOf(block any, without ...string) values {
	v := values{}
	v.add("", reflect.ValueOf(block))
	for path, value := range v {
		if value == defaults[path] || value == defaults[path[strings.LastIndexByte(path, '.')+1:]] ||
			slices.ContainsFunc(without, func(field string) bool { return within(path, field) }) {
			delete(v, path)
		}
	}
	return v
}

// within reports whether a path is a field, or is inside of it.
func within(path, field string) bool {
	rest, ok := strings.CutPrefix(path, field)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func (v values) add(path string, value reflect.Value) {
	switch value.Kind() {
	case reflect.Invalid:
	case reflect.Pointer, reflect.Interface:
		v.add(path, value.Elem())
	case reflect.Struct:
		v.addStruct(path, value)
	case reflect.Map:
		for _, key := range value.MapKeys() {
			v.add(fmt.Sprintf("%s[%v]", path, key), value.MapIndex(key))
		}
	case reflect.Slice, reflect.Array:
		if text, ok := value.Interface().([]byte); ok {
			v.add(path, reflect.ValueOf(string(text)))
			return
		}
		seen := map[string]bool{}
		for i := range value.Len() {
			name := nameOf(value.Index(i), i)
			if seen[name] {
				name = fmt.Sprintf("%s %d", name, i)
			}
			seen[name] = true
			v.add(fmt.Sprintf("%s[%s]", path, name), value.Index(i))
		}
	case reflect.String:
		if value.String() != "" {
			v[path] = value.String()
		}
	case reflect.Float32, reflect.Float64:
		v[path] = strconv.FormatFloat(value.Float(), 'f', -1, 64) // like an int: JSON has only one kind of number
	default:
		v[path] = fmt.Sprint(value)
	}
}

func (v values) addStruct(path string, value reflect.Value) {
	if t, ok := value.Interface().(time.Time); ok {
		v[path] = t.Format(time.RFC3339Nano)
		return
	}
	for i := range value.NumField() {
		field := value.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		name := field.Name
		if path != "" {
			name = path + "." + name
		}
		v.add(name, value.Field(i))
	}
}

// nameOf returns the key of a list element: its name if it has one, so that
// reordering is no change.
func nameOf(element reflect.Value, index int) string {
	for element.Kind() == reflect.Pointer || element.Kind() == reflect.Interface {
		element = element.Elem()
	}
	if element.Kind() == reflect.Struct {
		for _, field := range []string{"Name", "Label"} {
			if f := element.FieldByName(field); f.IsValid() && f.Kind() == reflect.String && f.String() != "" {
				return f.String()
			}
		}
	}
	return strconv.Itoa(index)
}

// handedDown lists the blocks of a job that are only defaults of its groups. As a
// Nomad server does not keep them, a change of them alone is none.
var handedDown = []string{"Reschedule", "Migrate", "Update"}

// superseded lists the settings of a group that a Nomad server ignores: the
// disconnect block has replaced them.
var superseded = []string{"StopAfterClientDisconnect", "MaxClientDisconnect"}

// ofServer lists the fields of a job that no job file sets.
var ofServer = []string{
	"ParentID", "DispatchIdempotencyToken", "Payload", "NomadTokenID", "Status", "StatusDescription", "Stable", "Version",
	"SubmitTime", "CreateIndex", "ModifyIndex", "JobModifyIndex", "VersionTag",
}

func jobValues(job *api.Job) values {
	v := valuesOf(job, slices.Concat(ofServer, handedDown, []string{"TaskGroups", "Stop"})...)
	v["Stop"] = strconv.FormatBool(stopped(job))
	return v
}

func groupValues(g *api.TaskGroup) values {
	v := valuesOf(g, slices.Concat(superseded, []string{"Tasks"})...)
	for path := range v {
		if within(path, "Networks") && notOfFile().MatchString(path) {
			delete(v, path)
		}
	}
	return v
}

// notOfFile matches the settings of a network that the server assigns or ignores.
var notOfFile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\.DynamicPorts\[[^]]*\]\.Value$|\.Device$`) })
