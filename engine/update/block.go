package update

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// block is a block of one version of a job as Nomad shows it: by the names of its
// API, with durations in nanoseconds.
type block struct {
	fields map[string]string // such as CPU, Env[A] or args[0]; "" is one without a value
	set    []string          // a list of strings, in place of fields
	blocks []nested
}

// nested is a block in another one.
type nested struct {
	block
	object string
	key    string // what it has in common with its other version; may be empty
	place  string // what it has in common if not the key; may be empty
}

// objects names the objects of blocks, in Nomad's order. Other blocks come after
// these, under their own names.
var objects = []struct{ field, object string }{
	{"Datacenters", "Datacenters"},
	{"Constraints", "Constraint"},
	{"Affinities", "Affinity"},
	{"Spreads", "Spread"},
	{"Config", "Config"},
	{"Resources", "Resources"},
	{"RestartPolicy", "RestartPolicy"},
	{"Migrate", "Migrate"},
	{"ReschedulePolicy", "ReschedulePolicy"},
	{"EphemeralDisk", "EphemeralDisk"},
	{"LogConfig", "LogConfig"},
	{"DispatchPayload", "DispatchPayload"},
	{"Artifacts", "Artifact"},
	{"ReservedPorts", "Static Port"},
	{"DynamicPorts", "Dynamic Port"},
	{"CanaryTags", "CanaryTags"},
	{"Tags", "Tags"},
	{"Checks", "Check"},
	{"Header", "Header"},
	{"CheckRestart", "CheckRestart"},
	{"Consul", "Consul"},
	{"Update", "Update"},
	{"Disconnect", "Disconnect"},
	{"Networks", "Network"},
	{"Scaling", "Scaling"},
	{"Services", "Service"},
	{"Volumes", "Volume"},
	{"Wait", "Template"},
	{"Templates", "Template"},
	{"ChangeScript", "ChangeScript"},
	{"Identity", "Identity"},
	{"Identities", "Identity"},
	{"Actions", "Action"},
	{"VolumeMounts", "VolumeMount"},
	{"Devices", "Device"},
	{"Links", "Link"},
	{"Secrets", "Secret"},
	{"Connect", "ConsulConnect"},
	{"Proxy", "ConsulProxy"},
	{"Upstreams", "ConsulUpstreams"},
}

var (
	// unset are the values that Nomad shows of fields that are not set.
	unset = map[string]string{"Template.VaultGrace": "0", "Identity.Name": "default"}
	// hidden are fields that Nomad's server sets, or leaves out.
	hidden = map[string][]string{
		"Update": {"Stagger"}, "Network": {"CIDR", "Device", "IP", "MBits"}, "Dynamic Port": {"Value", "IgnoreCollision"}, "Check": {"Advertise"}, "LogConfig": {"Enabled"},
		"Scaling": {"ID", "Namespace", "Target", "Type", "CreateIndex", "ModifyIndex"}, "ScalingPolicies": {"ID", "Namespace", "Target", "CreateIndex", "ModifyIndex"},
	}
)

// blockOf reads a struct, except the named fields. It returns nil for a nil
// pointer.
func blockOf(object string, v reflect.Value, without ...string) *block {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() {
		return nil
	}
	b := &block{fields: map[string]string{}}
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && !slices.Contains(without, f.Name) && !slices.Contains(hidden[object], f.Name) {
			b.add(object, f.Name, v.Field(i))
		}
	}
	slices.SortStableFunc(b.blocks, func(x, y nested) int { return strings.Compare(x.key, y.key) }) // their order does not matter
	return b
}

// add adds a setting of an object.
func (b *block) add(object, name string, v reflect.Value) {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	elem := func(kind reflect.Kind) bool {
		t := v.Type().Elem()
		return t.Kind() == kind || t.Kind() == reflect.Pointer && t.Elem().Kind() == kind
	}
	switch v.Kind() {
	case reflect.Pointer:
		if value := unset[object+"."+name]; value != "" {
			b.fields[name] = value
		}
	case reflect.Struct:
		b.nest(name, "", 0, v)
	case reflect.Slice:
		switch {
		case elem(reflect.Struct):
			for i := range v.Len() {
				b.nest(name, "", i, v.Index(i))
			}
		case v.Type() != reflect.TypeFor[[]string]() || v.Len() == 0:
		case object == "DNS":
			b.fields[name] = strings.Join(v.Interface().([]string), ",")
		default:
			b.blocks = append(b.blocks, nested{block: block{set: v.Interface().([]string)}, object: objectOf(name)})
		}
	case reflect.Map:
		switch {
		case elem(reflect.String):
			b.flatten(name, v)
		case elem(reflect.Struct):
			for key, value := range v.Seq2() {
				b.nest(name, key.String(), 0, value)
			}
		case v.Len() > 0:
			inside := block{fields: map[string]string{}}
			for key, value := range v.Seq2() {
				inside.flatten(key.String(), value)
			}
			b.blocks = append(b.blocks, nested{block: inside, object: objectOf(name)})
		}
	default:
		b.flatten(name, v)
		b.fields[name] = cmp.Or(b.fields[name], unset[object+"."+name])
	}
}

// nest adds a block, the one at an index of a list. Its key is its name, if it has
// none from a map.
func (b *block) nest(field, key string, index int, v reflect.Value) {
	inside := blockOf(objectOf(field), v)
	if inside == nil {
		return
	}
	for _, name := range []string{"Name", "Label", "DestPath", "RelativeDest", "DestinationName"} {
		key = cmp.Or(key, inside.fields[name])
	}
	n := nested{block: *inside, object: objectOf(field), key: key}
	if field == "Services" {
		n.place = fmt.Sprintf("%d %s", index, inside.fields["PortLabel"])
	}
	b.blocks = append(b.blocks, n)
}

// flatten adds a value, or the values in it by their indexes and keys.
func (b *block) flatten(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Invalid:
	case reflect.Pointer, reflect.Interface:
		b.flatten(path, v.Elem())
	case reflect.Map:
		for key, value := range v.Seq2() {
			b.flatten(fmt.Sprintf("%s[%v]", path, key), value)
		}
	case reflect.Slice:
		for i, value := range v.Seq2() {
			b.flatten(fmt.Sprintf("%s[%v]", path, i), value)
		}
	case reflect.Float32, reflect.Float64:
		b.fields[path] = strconv.FormatFloat(v.Float(), 'f', -1, 64) // like an int: JSON has only one kind of number
	case reflect.Int64:
		b.fields[path] = strconv.FormatInt(v.Int(), 10) // a duration, too
	default:
		b.fields[path] = fmt.Sprint(v)
	}
}

// named returns the blocks of an object.
func (b *block) named(object string) []nested {
	return slices.DeleteFunc(slices.Clone(b.blocks), func(n nested) bool { return n.object != object })
}

func objectOf(field string) string {
	for _, o := range objects {
		if o.field == field {
			return o.object
		}
	}
	return field
}

func rank(object string) int {
	for i, o := range objects {
		if o.object == object {
			return i
		}
	}
	return len(objects)
}
