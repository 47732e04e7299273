package template

import (
	"io/fs"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
)

// Permissions are octal, and have at most nine bits.
func TestPerms(t *testing.T) {
	t.Parallel()
	for perms, want := range map[string]fs.FileMode{"777": 0o777, "0777": 0o777, "0": 0, "600": 0o600, "1000": 1, "1777": 1, "10000": 1, "778": 1, "": 1, "-1": 1, "rw": 1} {
		tmpl := &api.Template{DestPath: new("local/a"), EmbeddedTmpl: new("x"), Perms: &perms}
		s := newSetting(t, "", tmpl)
		got, err := newSpec(s.task.Task.Templates[0], s.task, s.env, false)
		if (err != nil) != (want == 1) || err == nil && got.perms != want {
			t.Errorf("%q: %+v, %v", perms, got, err)
		}
	}
}

// The default intervals are Nomad's: the maximum is four times the minimum.
func TestWaits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		wait     *api.WaitConfig
		min, max time.Duration
	}{
		"none": {nil, defaultWaitMin, defaultWaitMax},
		"min":  {&api.WaitConfig{Min: new(2 * time.Second)}, 2 * time.Second, 8 * time.Second},
		"max":  {&api.WaitConfig{Max: new(time.Minute)}, defaultWaitMin, time.Minute},
		"both": {&api.WaitConfig{Min: new(time.Second), Max: new(3 * time.Second)}, time.Second, 3 * time.Second},
	} {
		tmpl := &api.Template{DestPath: new("local/a"), EmbeddedTmpl: new("x")}
		s := newSetting(t, "", tmpl)
		canonical := s.task.Task.Templates[0]
		canonical.Wait = tt.wait
		got, err := newSpec(canonical, s.task, s.env, false)
		if err != nil || got.waitMin != tt.min || got.waitMax != tt.max {
			t.Errorf("%s: %v to %v, want %v to %v; %v", name, got.waitMin, got.waitMax, tt.min, tt.max, err)
		}
	}
}
