package taskenv

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/gocty"
)

var (
	ctyValue = reflect.TypeFor[cty.Value]()
	duration = reflect.TypeFor[time.Duration]()
)

// Decode stores a decoded config in the struct that into points to. Its fields,
// and those of embedded structs, name their option in a tag:
//
//	type config struct {
//		Command string              `cty:"command"`
//		Args    []string            `cty:"args"`
//		RunFor  time.Duration       `cty:"run_for"` // a string such as "1.5s"
//		Labels  map[string]string   `cty:"labels"`
//		Ulimit  []map[string]string `cty:"ulimit"`
//		Exec    *execConfig         `cty:"exec_command"` // a block; nil if there is none
//		Mounts  []mountConfig       `cty:"mount"`        // blocks
//		Rest    cty.Value           `cty:"rest"`         // any type
//	}
//
// A missing option leaves its field unchanged, so defaults can be set before. A
// pointer distinguishes a missing option from zero. An option without a field is
// an error, because it would be ignored.
func Decode(config cty.Value, into any) error {
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("cannot decode config: need a pointer, not %T", into)
	}
	if err := decodeValue(config, target.Elem()); err != nil {
		return fmt.Errorf("cannot decode config: %w", err)
	}
	return nil
}

// decodeValue stores value in target. It stores primitive values like package
// gocty. Null leaves target unchanged.
func decodeValue(value cty.Value, target reflect.Value) error {
	switch {
	case target.Type() == ctyValue:
		target.Set(reflect.ValueOf(value))
		return nil
	case value.IsNull():
		return nil
	case !value.IsKnown():
		return errors.New("the value is not known")
	case target.Type() == duration:
		return decodeDuration(value, target)
	}
	switch target.Kind() {
	case reflect.Pointer:
		pointed := reflect.New(target.Type().Elem())
		if err := decodeValue(value, pointed.Elem()); err != nil {
			return err
		}
		target.Set(pointed)
	case reflect.Struct:
		return decodeStruct(value, target)
	case reflect.Slice:
		return decodeSlice(value, target)
	case reflect.Map:
		return decodeMap(value, target)
	default:
		return gocty.FromCtyValue(value, target.Addr().Interface())
	}
	return nil
}

func decodeDuration(value cty.Value, target reflect.Value) error {
	if value.Type() != cty.String {
		return fmt.Errorf("a duration is a string, not %s", value.Type().FriendlyName())
	}
	if value.AsString() == "" {
		target.SetInt(0)
		return nil
	}
	d, err := time.ParseDuration(value.AsString())
	if err != nil {
		return err
	}
	target.SetInt(int64(d))
	return nil
}

func decodeStruct(value cty.Value, target reflect.Value) error {
	if !value.Type().IsObjectType() {
		return fmt.Errorf("need an object, not %s", value.Type().FriendlyName())
	}
	fields := map[string]reflect.Value{}
	for _, field := range reflect.VisibleFields(target.Type()) {
		if name := field.Tag.Get("cty"); name != "" {
			fields[name] = target.FieldByIndex(field.Index)
		}
	}
	for name := range value.Type().AttributeTypes() {
		field, ok := fields[name]
		if !ok {
			return fmt.Errorf("option %q has no field in %s", name, target.Type())
		}
		if err := decodeValue(value.GetAttr(name), field); err != nil {
			return fmt.Errorf("option %q: %w", name, err)
		}
	}
	return nil
}

func decodeSlice(value cty.Value, target reflect.Value) error {
	if !value.CanIterateElements() || value.Type().IsMapType() || value.Type().IsObjectType() {
		return fmt.Errorf("need a list, not %s", value.Type().FriendlyName())
	}
	slice := reflect.MakeSlice(target.Type(), 0, value.LengthInt())
	for _, element := range value.Elements() {
		item := reflect.New(target.Type().Elem()).Elem()
		if err := decodeValue(element, item); err != nil {
			return fmt.Errorf("element %d: %w", slice.Len(), err)
		}
		slice = reflect.Append(slice, item)
	}
	target.Set(slice)
	return nil
}

func decodeMap(value cty.Value, target reflect.Value) error {
	if !value.CanIterateElements() || !value.Type().IsMapType() && !value.Type().IsObjectType() {
		return fmt.Errorf("need a map, not %s", value.Type().FriendlyName())
	}
	m := reflect.MakeMap(target.Type())
	for key, element := range value.Elements() {
		item := reflect.New(target.Type().Elem()).Elem()
		if err := decodeValue(element, item); err != nil {
			return fmt.Errorf("key %q: %w", key.AsString(), err)
		}
		m.SetMapIndex(reflect.ValueOf(key.AsString()).Convert(target.Type().Key()), item)
	}
	target.Set(m)
	return nil
}
