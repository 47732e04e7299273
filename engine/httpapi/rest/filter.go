package rest

import (
	"net/http"
	"reflect"

	"github.com/hashicorp/go-bexpr"
)

const (
	// maxFilter is how long a filter may be, in bytes.
	maxFilter = 4 << 10
	// maxFilterSteps is how many steps it may take to read it. Parentheses take
	// twice as many for each one that is inside of another.
	maxFilterSteps = 1_000_000
)

// badFilter has the words by which clients know that they have to filter
// themselves.
func badFilter(format string, args ...any) error {
	return Fail(http.StatusBadRequest, "failed to create result paginator: failed to read filter expression: "+format, args...)
}

// Filtered returns those of a list that the request's filter wants; see
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
		ok, err := filter.Evaluate(v)
		if err != nil {
			return nil, Fail(http.StatusBadRequest, "failed to read result page: %v", err)
		}
		if ok {
			wanted = append(wanted, v)
		}
	}
	return wanted, nil
}

// orEmpty makes a pointer to a text, number or truth value that is not there an
// empty one: those of Nomad's servers are no pointers.
func orEmpty(v reflect.Value) reflect.Value {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		switch v.Type().Elem().Kind() {
		case reflect.Struct, reflect.Map, reflect.Slice, reflect.Interface, reflect.Pointer: // is nil
		default:
			return reflect.Zero(v.Type().Elem())
		}
	}
	return v
}
