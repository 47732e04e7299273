package evaluate

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
)

// The pieces of a JSON string in one table: how each is written, and how many
// bytes encoding/json decodes it to.
func TestCharacter(t *testing.T) {
	t.Parallel()
	for _, written := range []string{
		`a`, `é`, `€`, `😀`, // unescaped
		`\n`, `\"`, `\\`, `\/`, // of two bytes
		`\u0041`, `\u0939`, `\u00e9`, `\u00E9`, `\u20ac`, `\u07ff`, `\u0800`, `\uFFFD`, // of six bytes
		`\ud83d\ude00`, `\uD83D\uDE00`, `\ud800\udc00`, `\udbff\udfff`, // surrogate pairs
	} {
		var text string
		if err := json.Unmarshal([]byte(`"`+written+`"`), &text); err != nil {
			t.Fatal(err)
		}
		for _, source := range []string{written + "after", written} {
			if raw, decoded := character([]byte(source)); raw != len(written) || decoded != len(text) {
				t.Errorf("%s: %d bytes that decode to %d, want %d and %d", source, raw, decoded, len(written), len(text))
			}
		}
	}
}

// Half of a surrogate pair is a separate character, whatever follows.
func TestHalfAPair(t *testing.T) {
	t.Parallel()
	for _, written := range []string{
		`\ud83d`, `\ude00`, `\ud83d\u0041`, `\ud83d\ud83d`, `\ude00\ud83d`, `\ude00\ude00`, `\ud83d\n12345`, `\ud83dA\ude00`,
		`\udbff\udbff`, `\ud83d\ue000`, `\ud83d` + "x" + `u0041`, `\ud83d\` + `\u0041`,
	} {
		source := []byte(written)
		got := 0
		for len(source) > 0 {
			raw, decoded := character(source)
			source, got = source[raw:], got+decoded
		}
		var text string
		if err := json.Unmarshal([]byte(`"`+written+`"`), &text); err != nil {
			t.Fatal(err)
		}
		if got != len(text) {
			t.Errorf("%s: decodes to %d bytes, want the %d of %q", written, got, len(text), text)
		}
	}
}

// Text cut in the middle of a character does not lead beyond the source.
func TestCutOff(t *testing.T) {
	t.Parallel()
	for _, written := range []string{`\`, `\u`, `\u00`, `\ud83d\u`, `\ud83d\ude0`, "\xc3"} {
		for n, source := 0, []byte(written); len(source) > 0; n++ {
			raw, decoded := character(source)
			if raw < 1 || raw > len(source) || decoded < 1 || n > len(written) {
				t.Errorf("%q: %d of %d bytes, %d decoded", written, raw, len(source), decoded)
				break
			}
			source = source[raw:]
		}
	}
}

// A place in the decoded text is found in the file, by byte and column, in
// every one of several strings with escapes.
func TestInSource(t *testing.T) {
	t.Parallel()
	const file = "job.json"
	written := []string{
		`a\nb${x}c`, `\ud83d\ude00€${x}\u0041`, `\ud83d\u0041${x}`, `é\"${x}`,
	}
	var source strings.Builder
	s := &Scope{sources: map[string][]byte{}}
	type place struct{ decoded, start, end hcl.Pos }
	var want []place
	for _, w := range written {
		at := hcl.Pos{Line: 1, Column: utf8.RuneCountInString(source.String()) + 1, Byte: source.Len()}
		source.WriteString(`"` + w + `"`)
		var text string
		if err := json.Unmarshal([]byte(`"`+w+`"`), &text); err != nil {
			t.Fatal(err)
		}
		end := hcl.Pos{Line: 1, Column: utf8.RuneCountInString(source.String()) + 1, Byte: source.Len()}
		s.escapes.add(hcl.Range{Filename: file, Start: at, End: end}, len(text))
		decoded, _, _ := strings.Cut(text, "${x}")
		before, _, _ := strings.Cut(w, "${x}")
		start := hcl.Pos{Line: 1, Column: at.Column + 1 + utf8.RuneCountInString(before), Byte: at.Byte + 1 + len(before)}
		want = append(want, place{
			decoded: hcl.Pos{Line: 1, Byte: at.Byte + 1 + len(decoded)},
			start:   start,
			end:     hcl.Pos{Line: 1, Column: start.Column + 4, Byte: start.Byte + 4},
		})
		source.WriteString(", ")
	}
	slices.Reverse(s.escapes.strings) // they may be found in any order
	s.sources[file] = []byte(source.String())
	for i, p := range want {
		r := hcl.Range{Filename: file, Start: p.decoded, End: p.decoded}
		r.End.Byte += 4
		if got := s.InSource(r); got.Start != p.start || got.End != p.end {
			t.Errorf("%s: %v, want %v to %v", written[i], got, p.start, p.end)
		}
		r.Filename = "other.json"
		if got := s.InSource(r); got != r {
			t.Errorf("%s: the place is of another file, and moved to %v", written[i], got)
		}
	}
	// Neither the range of a complete string nor the text between two strings
	// is changed.
	for _, start := range []int{0, strings.Index(source.String(), ", ") + 1} {
		r := hcl.Range{Filename: file, Start: hcl.Pos{Line: 1, Byte: start}}
		if got := s.InSource(r); got != r {
			t.Errorf("byte %d moved to %v", start, got.Start)
		}
	}
	// The decoded text may be longer than the string, but the range ends with
	// the string.
	last := want[len(want)-1].start
	r := hcl.Range{Filename: file, Start: last, End: hcl.Pos{Line: 1, Byte: last.Byte + 1000}}
	if got := s.InSource(r); got.End.Byte > source.Len() {
		t.Errorf("%v leads out of the source", got)
	}
}
