package httpapi

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// page returns the part of a list that the request asks for, filtered and
// sorted by a key, and tells where the next one begins; see
// https://developer.hashicorp.com/nomad/api-docs#pagination.
func page[T any](r *request, list []T, key func(T) string) ([]T, error) {
	list, err := filtered(r, list)
	if err != nil {
		return nil, err
	}
	return cut(r, list, key)
}

// cut is page without a filter.
func cut[T any](r *request, list []T, key func(T) string) ([]T, error) {
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
	order := func(a, b string) int { return cmp.Compare(a, b) }
	if reverse {
		order = func(a, b string) int { return cmp.Compare(b, a) }
	}
	slices.SortStableFunc(list, func(a, b T) int { return order(key(a), key(b)) })
	if token := r.query.Get("next_token"); token != "" { // whose object may be gone
		list = slices.DeleteFunc(list, func(v T) bool { return order(key(v), token) < 0 })
	}
	if perPage > 0 && len(list) > perPage {
		r.header.Set("X-Nomad-NextToken", key(list[perPage]))
		list = list[:perPage]
	}
	if list == nil {
		list = []T{} // never null
	}
	return list, nil
}

// byAge is a key by which older objects come first.
func byAge(created uint64, id string) string { return fmt.Sprintf("%020d.%s", created, id) }
