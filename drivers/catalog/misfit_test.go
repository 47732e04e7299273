package catalog

import (
	"strings"
	"testing"
)

func TestDetailOfAMisfit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value any
		want  string
	}{
		{nil, "this is null"},
		{[]any{1}, "this is a list"},
		{[]map[string]any{}, "this is a list"},
		{map[string]any{"a": "b"}, "this is a map"},
		{"text", `this is the string "text"`},
		{strings.Repeat("é", 40), `this is the string "` + strings.Repeat("é", 40) + `"`},
		{strings.Repeat("é", 41), "this is a string"},
		{7, "this is 7"},
		{true, "this is true"},
	} {
		if got := (misfit{value: c.value}).detail(); got != c.want {
			t.Errorf("%v: %q, want %q", c.value, got, c.want)
		}
	}
}
