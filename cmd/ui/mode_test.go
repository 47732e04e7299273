package ui

import "testing"

// A flag accepts its values and refuses others with a list of them.
func TestFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flag interface {
			Set(string) error
			String() string
			Type() string
		}
		kind    string
		values  []string
		refusal string
	}{
		{Choice[Mode]{new(Mode), "mode", []Mode{Plain, JSON, Quiet}}, "mode", []string{"plain", "json", "quiet"}, `"loud" is not one of plain, json, quiet`},
		{Choice[ColorMode]{new(ColorMode), "when", []ColorMode{ColorAuto, ColorAlways, ColorNever}}, "when", []string{"auto", "always", "never"}, `"loud" is not one of auto, always, never`},
	} {
		for _, value := range c.values {
			if err := c.flag.Set(value); err != nil || c.flag.String() != value || c.flag.Type() != c.kind {
				t.Errorf("%s: %v, then %s of type %s", value, err, c.flag, c.flag.Type())
			}
		}
		last := c.flag.String()
		if err := c.flag.Set("loud"); err == nil || err.Error() != c.refusal || c.flag.String() != last {
			t.Errorf("%v, and the value is %s; want %s", err, c.flag, c.refusal)
		}
	}
}
