package rest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
)

// Page returns the page of a list that the request asks for, filtered and
// sorted by a key, and sets the token of the next page; see
// https://developer.hashicorp.com/nomad/api-docs#pagination.
func Page[T any](r *Request, list []T, key func(T) string) ([]T, error) {
	list, err := Filtered(r, list)
	if err != nil {
		return nil, err
	}
	perPage := 0
	if raw := r.Query.Get("per_page"); raw != "" {
		n, err := strconv.ParseInt(raw, 10, 32)
		if err != nil || n < 0 {
			return nil, Fail(http.StatusBadRequest, "Expect a number for `per_page` query string parameter")
		}
		perPage = int(n)
	}
	reverse, err := r.Flag("reverse")
	if err != nil {
		return nil, err
	}
	order := func(a, b string) int { return cmp.Compare(a, b) }
	if reverse {
		order = func(a, b string) int { return cmp.Compare(b, a) }
	}
	slices.SortStableFunc(list, func(a, b T) int { return order(key(a), key(b)) })
	if token := r.Query.Get("next_token"); token != "" { // its object may be gone
		list = slices.DeleteFunc(list, func(v T) bool { return order(key(v), token) < 0 })
	}
	if perPage > 0 && len(list) > perPage {
		r.Answer.Header().Set("X-Nomad-NextToken", key(list[perPage]))
		list = list[:perPage]
	}
	if list == nil {
		list = []T{} // never null
	}
	return list, nil
}

// ByAge returns a key that sorts older objects first.
func ByAge(created uint64, id string) string { return fmt.Sprintf("%020d.%s", created, id) }
