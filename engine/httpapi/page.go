package httpapi

import (
	"net/http"
	"slices"
	"strconv"
)

// page returns the part of a sorted list that the request asks for, and tells
// where the next one begins; see
// https://developer.hashicorp.com/nomad/api-docs#pagination. Filters are
// refused with the words by which clients know that they have to filter
// themselves.
func page[T any](r *request, list []T, id func(T) string) ([]T, error) {
	if r.query.Get("filter") != "" {
		return nil, fail(http.StatusBadRequest, "failed to create result paginator: filter expressions are not supported")
	}
	perPage := 0
	if raw := r.query.Get("per_page"); raw != "" {
		n, err := strconv.ParseInt(raw, 10, 32)
		if err != nil || n < 0 {
			return nil, fail(http.StatusBadRequest, "Invalid per_page parameter: %q", raw)
		}
		perPage = int(n)
	}
	reverse, err := r.flag("reverse")
	if err != nil {
		return nil, err
	}
	if reverse {
		slices.Reverse(list)
	}
	if token := r.query.Get("next_token"); token != "" {
		first := slices.IndexFunc(list, func(v T) bool { return id(v) == token })
		if first < 0 {
			first = len(list) // it is gone
		}
		list = list[first:]
	}
	if perPage > 0 && len(list) > perPage {
		r.header.Set("X-Nomad-NextToken", id(list[perPage]))
		list = list[:perPage]
	}
	if list == nil {
		list = []T{} // never null
	}
	return list, nil
}
