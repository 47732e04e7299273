package view

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestTextIsMadeSafe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, plain, colored string }{
		{"letters", "grün — 日本", "grün — 日本", "grün — 日本"},
		{"tab", "a\tb", "a\tb", "a\tb"},
		{"color", "\x1b[1;31mred\x1b[0m", "red", "\x1b[1;31mred\x1b[0m"},
		{"color with colons", "\x1b[38:5:9mred", "red", "\x1b[38:5:9mred"},
		{"clear screen", "\x1b[2J\x1b[Hgone", "gone", "gone"},
		{"key modifier is not a color", "\x1b[>4;2mtext", "text", "text"},
		{"title", "\x1b]0;owned\atext", "text", "text"},
		{"title ended by ST", "\x1b]0;owned\x1b\\text", "text", "text"},
		{"title without end", "\x1b]0;owned", "^[]0;owned", "^[]0;owned"},
		{"device control", "\x1bP1$r\x1b\\text", "text", "text"},
		{"character set", "\x1b(0lqk", "lqk", "lqk"},
		{"reset terminal", "\x1bctext", "text", "text"},
		{"sequence without end", "text\x1b[31", "text^[[31", "text^[[31"},
		{"sequence broken off", "\x1b[31\x07m", "^Gm", "^Gm"},
		{"lone escape", "a\x1b", "a^[", "a^["},
		{"bell, backspace, delete", "a\a\b\x7f", "a^G^H^?", "a^G^H^?"},
		{"null", "\x00", "^@", "^@"},
		{"not UTF-8", "a\xffb\xc3", `a\xffb\xc3`, `a\xffb\xc3`},
		{"control sequence introducer in one rune", "\u009b31m", `\u009b31m`, `\u009b31m`},
		{"no-break space", "a\u00a0b", "a\u00a0b", "a\u00a0b"},
		{"last control sequence introducer", "\u009f", `\u009f`, `\u009f`},
		{"embedding", "a\u202ab", `a\u202ab`, `a\u202ab`},
		{"isolates", "a\u2066b\u2069", `a\u2066b\u2069`, `a\u2066b\u2069`},
		{"their neighbors", "\u2029\u202f\u2065\u206a", "\u2029\u202f\u2065\u206a", "\u2029\u202f\u2065\u206a"},
		{"first and last final byte", "\x1b[@a\x1b[~b", "ab", "ab"},
		{"parameters behind an intermediate byte", "\x1b[ ?mc", "?mc", "?mc"},
		{"short sequences", "\x1b0a\x1b~b\x1b c", "ab", "ab"},
		{"a character set without its name", "\x1b(", "^[(", "^[("},
		{"a character set by its last letter", "\x1b/Ax", "x", "x"},
		{"not one at all", "\x1b\x7fx", "^[^?x", "^[^?x"},
		{"title that is not ended by a lone ESC", "\x1b]0;a\x1b", "^[]0;a^[", "^[]0;a^["},
		{"private color", "\x1b[<1m\x1b[=1mx", "x", "x"},
		{"more parameters than any has", "\x1b[" + strings.Repeat("1;", 100) + "1mx\x1b[" + strings.Repeat("2;", 100) + "Hy", "xy", "\x1b[" + strings.Repeat("1;", 100) + "1mxy"},
		{"title in letters of several bytes", "\x1b]0;日本\atext", "text", "text"},
		{"other intermediate bytes", "\x1b[1 mx\x1b[!py", "xy", "xy"},
		{"right to left override", "a\u202eb", `a\u202eb`, `a\u202eb`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plain, _ := appendSafe(nil, []byte(c.in), nil, false)
			if string(plain) != c.plain {
				t.Errorf("without colors %q, want %q", plain, c.plain)
			}
			colored, _ := appendSafe(nil, []byte(c.in), nil, true)
			if string(colored) != c.colored {
				t.Errorf("with colors %q, want %q", colored, c.colored)
			}
		})
	}
}

func TestColorsStayInForceUntilReset(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"set", "\x1b[31mred", "\x1b[31m"},
		{"two", "\x1b[31m\x1b[1mbold red", "\x1b[31m\x1b[1m"},
		{"reset", "\x1b[31mred\x1b[0m", ""},
		{"short reset", "\x1b[31mred\x1b[m", ""},
		{"reset and set", "\x1b[31mred\x1b[0;32mgreen", "\x1b[0;32m"},
		{"bounded by bytes", strings.Repeat("\x1b[31m", maxColor/5-1) + "\x1b[1;31;4m\x1b[331;4m\x1b[0;1m", "\x1b[0;1m"},
		{"the last that fits", strings.Repeat("\x1b[31m", maxColor/5-1) + "\x1b[1;31;4m", strings.Repeat("\x1b[31m", maxColor/5-1) + "\x1b[1;31;4m"},
		{"bounded", strings.Repeat("\x1b[31m", 100), strings.Repeat("\x1b[31m", maxColor/5)},
	} {
		_, got := appendSafe(nil, []byte(c.in), nil, true)
		if string(got) != c.want {
			t.Errorf("%s: in force %q, want %q", c.name, got, c.want)
		}
	}
}

func TestProgressLineKeepsItsLastState(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"10%\r20%\r100%":   "100%",
		"10%\r100%\r":      "100%",
		"windows line\r":   "windows line",
		"no return at all": "no return at all",
	} {
		if got := appendVisible(nil, []byte(in)); string(got) != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// FuzzVisible checks that no control character gets through.
func FuzzVisible(f *testing.F) {
	for _, seed := range []string{"text", "\x1b[31mred\x1b[0m", "\x1b]0;x\a", "\x1b[?25l\x9b2J", "\u009d0;x\u009c", "\x1b\x1b[31m"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		safe := appendVisible(nil, in)
		if !utf8.Valid(safe) {
			t.Errorf("%q became %q, which is not UTF-8", in, safe)
		}
		for _, r := range string(safe) {
			if unicode.IsControl(r) && r != '\t' {
				t.Errorf("%q became %q, with %q in it", in, safe, r)
			}
		}
		colored, _ := appendSafe(nil, in, nil, true)
		for rest := string(colored); ; {
			i := strings.IndexByte(rest, esc)
			if i < 0 {
				break
			}
			n, isColor := sequence([]byte(rest[i:]))
			if !isColor {
				t.Fatalf("%q became %q, which is more than colors", in, colored)
			}
			rest = rest[i+n:]
		}
	})
}
