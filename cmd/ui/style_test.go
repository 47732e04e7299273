package ui

import "testing"

func TestColorPrecedence(t *testing.T) {
	t.Parallel()
	type env map[string]string
	for _, c := range []struct {
		name     string
		mode     ColorMode
		terminal bool
		env      env
		want     bool
	}{
		{"terminal", ColorAuto, true, env{"TERM": "xterm"}, true},
		{"dumb terminal", ColorAuto, true, env{"TERM": "dumb"}, false},
		{"terminal of no name", ColorAuto, true, nil, false},
		{"pipe", ColorAuto, false, env{"TERM": "xterm"}, false},
		{"flag always beats NO_COLOR", ColorAlways, false, env{"NO_COLOR": "1"}, true},
		{"flag never beats force", ColorNever, true, env{"TERM": "xterm", "FORCE_COLOR": "1"}, false},
		{"NO_COLOR beats force", ColorAuto, true, env{"TERM": "xterm", "NO_COLOR": "1", "FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"}, false},
		{"empty NO_COLOR is unset", ColorAuto, true, env{"TERM": "xterm", "NO_COLOR": ""}, true},
		{"FORCE_COLOR in a pipe", ColorAuto, false, env{"FORCE_COLOR": "1"}, true},
		{"CLICOLOR_FORCE in a pipe", ColorAuto, false, env{"CLICOLOR_FORCE": "1"}, true},
		{"FORCE_COLOR=0 is unset", ColorAuto, false, env{"FORCE_COLOR": "0"}, false},
		{"force beats CLICOLOR=0", ColorAuto, false, env{"CLICOLOR_FORCE": "1", "CLICOLOR": "0"}, true},
		{"CLICOLOR=0", ColorAuto, true, env{"TERM": "xterm", "CLICOLOR": "0"}, false},
		{"CLICOLOR=1 in a pipe", ColorAuto, false, env{"CLICOLOR": "1"}, false},
		{"GitHub's log viewer", ColorAuto, false, env{"GITHUB_ACTIONS": "true"}, true},
		{"CLICOLOR=0 beats GitHub", ColorAuto, false, env{"GITHUB_ACTIONS": "true", "CLICOLOR": "0"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, _, _ := Test()
			s.Env = func(name string) string { return c.env[name] }
			if got := s.color(c.mode, c.terminal); got != c.want {
				t.Errorf("color: %v, want %v", got, c.want)
			}
		})
	}
}
