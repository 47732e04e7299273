package rest

import (
	"fmt"
	"net/http"
	"reflect"

	"github.com/hashicorp/go-bexpr"
)

const (
	// maxFilter limits the length of a filter, in bytes.
	maxFilter = 4 << 10
	// maxFilterSteps limits the steps of parsing a filter, which double with
	// every level of parentheses.
	maxFilterSteps = 1_000_000
)

// badFilter returns an error in the words by which clients know that they have
// to filter themselves.
func badFilter(format string, args ...any) error {
	return Fail(http.StatusBadRequest, "failed to create result paginator: failed to read filter expression: "+format, args...)
}

// Filtered returns the elements of a list that match the request's filter; see
// https://developer.hashicorp.com/nomad/api-docs#filtering.
func Filtered[T any](r *Request, list []T) ([]T, error) {
	text := r.Query.Get("filter")
	if text == "" {
		return list, nil
	}
	if len(text) > maxFilter {
		return nil, badFilter("it is longer than %d bytes", maxFilter)
	}
	filter, err := bexpr.CreateEvaluator(text, bexpr.WithMaxExpressions(maxFilterSteps), bexpr.WithHookFn(orEmpty))
	if err != nil {
		return nil, badFilter("%v", err)
	}
	var wanted []T
	for _, v := range list {
		ok, err := matches(filter, v)
		if err != nil {
			return nil, Fail(http.StatusBadRequest, "failed to read result page: %v", err)
		}
		if ok {
			wanted = append(wanted, v)
		}
	}
	return wanted, nil
}

// matches reports whether a filter matches a value. The library panics where a
// filter compares the text of a block that is not set.
func matches(filter *bexpr.Evaluator, v any) (ok bool, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("the filter compares a block with a value: %v", cause)
		}
	}()
	return filter.Evaluate(v)
}

// orEmpty replaces a nil pointer to a string, number or boolean by a pointer to
// an empty value: Nomad's servers have no pointers there.
func orEmpty(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		switch v.Type().Elem().Kind() {
		case reflect.Struct, reflect.Map, reflect.Slice, reflect.Interface, reflect.Pointer: // nil
		default:
			return reflect.Zero(v.Type().Elem())
		}
	}
	return v
}
