package variable_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/variable"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	const size = 64 << 10
	items := api.VariableItems{"v": strings.Repeat("x", size-1)}
	for _, tt := range []struct {
		path  string
		items api.VariableItems
		want  string // of the error
	}{
		{"a", items, ""},
		{"A-b_c~d/9", nil, ""},
		{strings.Repeat("a", 128), items, ""},
		{strings.Repeat("a", 129), items, "invalid path"},
		{"", items, `invalid path ""`},
		{"a b", items, `invalid path "a b"`},
		{"a.b", items, "invalid path"},
		{"a", api.VariableItems{"vw": items["v"]}, "variables are limited to 64KiB in total size"},
		{"nomad/jobs", items, ""},
		{"nomad/jobs/a/b", items, ""},
		{"nomad/sentinel/a", items, ""},
		{"nomad/job-templates/a", items, ""},
		{"nomad/job-templates/a/b", items, "reserved path"},
		{"nomad/job-templates", items, "reserved path"},
		{"nomad", items, "reserved path"},
		{"nomad/a", items, "valid paths under the top-level"},
		{"nomad/jobsx", items, "valid paths under the top-level"},
		{"nomads/a", items, ""},
	} {
		err := variable.Check(&api.Variable{Path: tt.path, Items: tt.items})
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%.20q: %v, want %q", tt.path, err, tt.want)
		}
	}
}

// Each change has an index after the last one, or the given one, and is
// announced once; an update without a change has neither.
func TestIndexes(t *testing.T) {
	t.Parallel()
	var s variable.Store
	told := 0
	s.Tell(func() { told++ })
	var log []string
	note := func(v *api.Variable, err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
		if v == nil {
			log = append(log, fmt.Sprintf("- %d", told))
			return
		}
		if v.CreateTime == 0 || v.ModifyTime < v.CreateTime {
			t.Errorf("%s was made at %d and changed at %d", v.Path, v.CreateTime, v.ModifyTime)
		}
		log = append(log, fmt.Sprintf("%s %d %d %d", v.Path, v.CreateIndex, v.ModifyIndex, told))
	}
	note(s.Put(of("b", "1"), nil))
	note(s.Put(of("a", "1"), new(uint64(0))))
	note(s.Put(of("b", "2"), new(uint64(1))))
	note(s.Delete("default", "c", nil))
	note(s.Delete("default", "a", new(uint64(2))))
	note(s.Put(&api.Variable{Namespace: "another", Path: "z", Items: api.VariableItems{}}, nil))
	s.Keep(func(v *api.Variable, deleted bool) error {
		log = append(log, fmt.Sprintf("%s/%s deleted: %v", v.Namespace, v.Path, deleted))
		v.ModifyIndex, v.CreateIndex = 40, cmp.Or(v.CreateIndex, 40)
		return nil
	})
	note(s.Put(of("a", "2"), nil))
	note(s.Delete("default", "b", nil))
	want := []string{
		"b 1 1 1", "a 2 2 2", "b 1 3 3", "- 3", "- 4", "z 5 5 5",
		"default/a deleted: false", "a 40 40 6", "default/b deleted: true", "- 7",
	}
	if !slices.Equal(log, want) {
		t.Errorf("%q, want\n%q", log, want)
	}
	var all []string
	for _, v := range s.All() {
		all = append(all, v.Namespace+"/"+v.Path)
	}
	if want := []string{"another/z", "default/a"}; !slices.Equal(all, want) {
		t.Errorf("there are %q, want %q", all, want)
	}
	if v, err := s.Put(of("none", "1"), new(uint64(7))); err == nil || v != nil {
		t.Errorf("one that there is not was changed: %v, %v", v, err)
	}
}
