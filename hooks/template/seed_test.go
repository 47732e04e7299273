package template

import (
	"regexp"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/chance"
)

// Random values of a template derive from the seed of the run.
func TestTemplatesOfASeed(t *testing.T) {
	t.Parallel()
	render := func(seed uint64, alloc string) string {
		text := `{{range loop 20}}{{sprig_randInt 5 9}}{{end}} {{sprig_randInt 7 8}} {{sprig_shuffle "abcdefghijklmnopqrstuvwxyzäöü"}}{{sprig_shuffle ""}}`
		s := newSetting(t, "", &api.Template{EmbeddedTmpl: &text, DestPath: new("local/a"), ChangeMode: new("noop")})
		s.task.Chance, s.task.Alloc.ID = chance.Seeded(seed), alloc
		if err := s.start(Config{}); err != nil {
			t.Fatal(err)
		}
		defer s.stop()
		return s.read("t/local/a")
	}
	one := render(1, "a")
	if !regexp.MustCompile(`^[5-8]{20} 7 [a-zäöü]{29,}$`).MatchString(one) {
		t.Errorf("it is %q", one)
	}
	if again := render(1, "a"); again != one {
		t.Errorf("the same seed gives %q, then %q", one, again)
	}
	if render(2, "a") == one || render(1, "b") == one {
		t.Error("another seed or allocation gives the same")
	}
}
