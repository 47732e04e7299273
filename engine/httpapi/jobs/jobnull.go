package jobs

import (
	"fmt"
	"reflect"

	"github.com/hashicorp/nomad/api"
)

// checkNulls refuses a job that has nothing where a block should be: it would
// be looked into.
func checkNulls(job *api.Job) error {
	if at := nullIn(reflect.ValueOf(job).Elem()); at != "" {
		return fmt.Errorf("null is no value of the job's %s", at[1:])
	}
	return nil
}

// nullIn returns the path of an element of a list or map of blocks that is
// null; empty: there is none.
func nullIn(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return nullIn(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if at := nullIn(v.Field(i)); at != "" {
				return "." + v.Type().Field(i).Name + at
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Pointer {
			return ""
		}
		for i := range v.Len() {
			if at := nullAt(v.Index(i)); at != "" {
				return fmt.Sprintf("[%d]%s", i, at[1:])
			}
		}
	case reflect.Map:
		if v.Type().Elem().Kind() != reflect.Pointer {
			return ""
		}
		for entries := v.MapRange(); entries.Next(); {
			if at := nullAt(entries.Value()); at != "" {
				return fmt.Sprintf("[%q]%s", entries.Key(), at[1:])
			}
		}
	default: // in which there are no blocks
	}
	return ""
}

// nullAt is nullIn for an element, with a first character in any case.
func nullAt(v reflect.Value) string {
	if v.IsNil() {
		return "!"
	}
	if at := nullIn(v); at != "" {
		return "!" + at
	}
	return ""
}
