package rest

import (
	"net/url"
	"strings"
	"testing"
)

// A field that is a pointer here and not in Nomad is filtered in the same way.
func TestFilterOnMissingFields(t *testing.T) {
	t.Parallel()
	type object struct {
		Text   *string
		Number *int
		Block  *struct{ A string }
	}
	for filter, want := range map[string]int{
		`Text == ""`: 1, `Number == 0`: 1, `Text == "x"`: 0, `Block is nil`: 1, `Text is not empty`: 0,
	} {
		got, err := Filtered(&Request{Query: url.Values{"filter": {filter}}}, []object{{}})
		if err != nil || len(got) != want {
			t.Errorf("%s: %v, %v", filter, got, err)
		}
	}
}

// A filter that makes no sense is refused: the library panics at it.
func TestFilterThatPanics(t *testing.T) {
	t.Parallel()
	type object struct{ Block *struct{ A string } }
	got, err := Filtered(&Request{Query: url.Values{"filter": {`Block matches "x"`}}}, []object{{}})
	if err == nil || !strings.Contains(err.Error(), "failed to read result page: the filter compares a block") {
		t.Errorf("%v, %v", got, err)
	}
}
