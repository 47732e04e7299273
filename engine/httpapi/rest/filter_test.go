package rest

import (
	"net/url"
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
