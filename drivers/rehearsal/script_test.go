package rehearsal

import (
	"testing"

	"github.com/zclconf/go-cty/cty"
)

func object(pairs ...any) cty.Value {
	attrs := map[string]cty.Value{}
	for i := 0; i < len(pairs); i += 2 {
		attrs[pairs[i].(string)] = pairs[i+1].(cty.Value)
	}
	return cty.ObjectVal(attrs)
}

func TestRunsOn(t *testing.T) {
	t.Parallel()
	if !For(Forever, 0).RunsOn() || For(1, 0).RunsOn() || (Script{}).RunsOn() {
		t.Error("only a script that lasts forever runs on")
	}
}

func TestLag(t *testing.T) {
	t.Parallel()
	s := Script{Lag: Lag{Start: 2, Run: 3}}
	for _, c := range []struct{ name, value, want string }{
		{"run_for", "1s", "1.000000003s"},
		{"run_for", "", "3ns"},
		{"run_for", "0s", "3ns"},
		{"run_for", Forever.String(), Forever.String()},
		{"run_for", "x", "x"},
		{"start_block_for", "1s", "1.000000002s"},
		{"start_block_for", "0s", "2ns"},
		{"start_block_for", "", "2ns"},
		{"plugin_exit_after", "", ""},
		{"plugin_exit_after", "1m", "1m0.000000003s"},
		{"kill_after", "1s", "1s"},
		{"stdout_string", "1s", "1s"},
	} {
		if got := s.late(object(c.name, cty.StringVal(c.value))).GetAttr(c.name).AsString(); got != c.want {
			t.Errorf("%s %q becomes %q, not %q", c.name, c.value, got, c.want)
		}
	}
	for name, want := range map[string]string{"run_for": "3ns", "start_block_for": "2ns"} {
		for _, options := range []cty.Value{object("exit_code", cty.NumberIntVal(1)), object(name, cty.NullVal(cty.String))} {
			if got := s.late(options).GetAttr(name).AsString(); got != want {
				t.Errorf("without %s it is %s", name, got)
			}
		}
	}
}
