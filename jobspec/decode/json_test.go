package decode_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/jobspec/decode"
)

// An error in a JSON string has the right place in the file, whatever escapes
// precede it.
func TestPlacesInJSON(t *testing.T) {
	t.Parallel()
	for source, want := range map[string][]string{
		`{"users": "${nope()}"}`:                   {`1:14-18 Call to unknown function | There is no function named "nope". | `},
		`{"users": "a\n${nope()}"}`:                {`1:17-21 Call to unknown function | There is no function named "nope". | `},
		`{"users": "\u0041\ud83d\ude00${nope()}"}`: {`1:32-36 Call to unknown function | There is no function named "nope". | `},
		`{"users": "é${nope()}"}`:                  {`1:15-19 Call to unknown function | There is no function named "nope". | `},
	} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(want, said(t, source, &group{}, decode.Nowhere{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A label may be kept as a pointer.
func TestLabelAsPointer(t *testing.T) {
	t.Parallel()
	type named struct {
		Name *string `hcl:",label"`
	}
	var target struct {
		Items []*named `hcl:"item,block"`
	}
	if got := said(t, "item \"a\" {}\nitem \"b\" {}", &target, decode.Nowhere{}); len(got) > 0 {
		t.Fatal(got)
	}
	if len(target.Items) != 2 || *target.Items[0].Name != "a" || *target.Items[1].Name != "b" {
		t.Errorf("%+v", target.Items)
	}
}
