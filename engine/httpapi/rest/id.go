package rest

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
)

// idLength is the length of a complete ID.
const idLength = 36

// PlainID returns an ID, or a prefix of one, without dashes.
func PlainID(id string) string { return strings.ToLower(strings.ReplaceAll(id, "-", "")) }

// CheckID returns the error with which Nomad answers a request for an object
// whose ID is not complete, or none at all. Lookup is how its text begins.
func CheckID(lookup, id string) error {
	if len(id) != idLength {
		return indexError(lookup, "UUID must be 36 characters")
	}
	return checkPrefix(lookup, id)
}

// IDPrefix returns the prefix of IDs in a query, without dashes. Nomad takes
// whole bytes of an ID only. Lookup is how the text of the error begins.
func (r *Request) IDPrefix(lookup string) (string, error) {
	prefix := r.Query.Get("prefix")
	return PlainID(prefix), checkPrefix(lookup, prefix)
}

func checkPrefix(lookup, prefix string) error {
	plain := strings.ReplaceAll(prefix, "-", "")
	dashes := len(prefix) - len(plain)
	_, err := hex.DecodeString(plain)
	switch {
	case len(prefix) > idLength:
		return indexError(lookup, "Invalid UUID length. UUID have 36 characters; got %d", len(prefix))
	case dashes > 4:
		return indexError(lookup, `UUID should have maximum of 4 "-"; got %d`, dashes)
	case len(plain)%2 != 0:
		return indexError(lookup, "Input (without hyphens) must be even length")
	case err != nil:
		return indexError(lookup, "Invalid UUID: %v", err)
	}
	return nil
}

func indexError(lookup, format string, args ...any) error {
	return Fail(http.StatusInternalServerError, "%sindex error: %s", lookup, fmt.Sprintf(format, args...))
}
