package jobspec

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/evaluate"
)

// minSecret is the minimum length, in bytes, of values that are hidden
// everywhere. A shorter one is hidden only where it is itself wrong: "1" is
// part of many words.
const minSecret = 4

const (
	hidden     = "(hidden)"
	whyHidden  = "the value is hidden, for it was set outside of the job file"
	mostHidden = 10_000 // maximum number of hidden values
)

// concealment hides values from outside of the job file in diagnostics: values
// of variables from stubs, the command line, the environment or files of
// values, and everything computed from them.
type concealment struct {
	text   string          // of the job file: its author's own words may be shown
	names  map[string]bool // names of variables may be shown, too
	files  map[string]bool // sources that contain hidden values
	ranges []Range         // expressions of the job file with hidden values
	values map[string]bool // the hidden values
}

// keep marks a source that must not be shown.
func (c *concealment) keep(file string) {
	if c.files == nil {
		c.files = map[string]bool{}
	}
	c.files[file] = true
}

// add hides a value and all its elements.
func (c *concealment) add(v cty.Value) {
	if c.values == nil {
		c.values = map[string]bool{}
	}
	note := func(text string) {
		if text != "" && len(c.values) < mostHidden {
			c.values[text] = true
		}
	}
	_ = cty.Walk(v, func(path cty.Path, v cty.Value) (bool, error) {
		if n := len(path); n > 0 {
			if step, ok := path[n-1].(cty.IndexStep); ok && step.Key.Type() == cty.String {
				note(step.Key.AsString())
			}
		}
		switch {
		case v.IsNull() || !v.IsKnown():
		case v.Type() == cty.String:
			note(v.AsString())
		case v.Type() == cty.Number:
			note(v.AsBigFloat().Text('f', -1))
			note(v.AsBigFloat().Text('g', 20))
		}
		return true, nil
	})
}

// addAll hides values that a scope has found.
func (c *concealment) addAll(found []evaluate.Concealed) {
	c.ranges = nil
	for _, f := range found {
		c.ranges = append(c.ranges, RangeOf(f.Range))
		c.add(f.Value)
	}
}

// hide removes hidden values from a diagnostic.
func (c *concealment) hide(p *Diagnostic) {
	for _, text := range []*string{&p.Summary, &p.Detail, &p.Remedy} {
		*text = c.replace(*text, minSecret)
	}
	if !c.at(p.Range) {
		return
	}
	p.Summary = c.strictly(p.Summary)
	p.Detail = c.strictly(p.Detail)
	// A parser may quote parts of the value in its own way.
	if strings.Contains(p.Detail, hidden) && (p.Detail == hidden || strings.ContainsAny(p.Detail, "`':")) {
		p.Detail = whyHidden
	}
	if strings.Contains(c.strictly(p.Remedy), hidden) {
		p.Remedy = ""
	}
	p.Word = ""
}

// strictly hides what may be a value, or a part of one, in a text about it.
func (c *concealment) strictly(text string) string {
	return c.numbers(c.replace(c.quoted(text), 1), strings.Contains)
}

// numbers hides the numbers in a text that match one of the values. The 3 in "s3" is
// not a number.
func (c *concealment) numbers(text string, match func(value, number string) bool) string {
	var b strings.Builder
	for inWord := false; text != ""; {
		digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
		if digits == 0 {
			digits = strings.IndexAny(text+"0", "0123456789")
			b.WriteString(text[:digits])
			last, _ := utf8.DecodeLastRuneInString(text[:digits])
			inWord = unicode.IsLetter(last)
		} else if number := text[:digits]; !inWord && c.any(func(value string) bool { return match(value, number) }) {
			b.WriteString(hidden)
		} else {
			b.WriteString(number)
		}
		text = text[digits:]
	}
	return b.String()
}

func (c *concealment) any(ok func(value string) bool) bool {
	for value := range c.values {
		if ok(value) {
			return true
		}
	}
	return false
}

// loosely hides what may be a value in a text about what is beside it, such as
// a sum.
func (c *concealment) loosely(text string) string {
	return c.numbers(c.replace(text, 1), func(value, number string) bool { return strings.TrimLeft(value, "-+") == number })
}

// at reports whether something that must not be shown stands there.
func (c *concealment) at(r Range) bool {
	return c.files[r.File] || slices.ContainsFunc(c.ranges, func(s Range) bool {
		return s.File == r.File && r.Start.Byte < s.End.Byte && s.Start.Byte < max(r.End.Byte, r.Start.Byte+1)
	})
}

// replace hides the values of at least so many bytes. Short ones count as words
// alone.
func (c *concealment) replace(text string, least int) string {
	if text == "" {
		return ""
	}
	var found []string
	for value := range c.values {
		if len(value) >= least && strings.Contains(text, shown(value)) {
			found = append(found, shown(value))
		}
	}
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) }) // one may be part of another
	for _, value := range found {
		text = replaceWords(text, value, len(value) < minSecret)
	}
	return text
}

// shown returns a value as %q shows it, without the quotes.
func shown(value string) string {
	quoted := strconv.Quote(value)
	return quoted[1 : len(quoted)-1]
}

func replaceWords(text, value string, words bool) string {
	var b strings.Builder
	for {
		i := strings.Index(text, value)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		end := i + len(value)
		b.WriteString(text[:i])
		if words && (i > 0 && isInWord(rune(text[i-1])) || end < len(text) && isInWord(rune(text[end]))) {
			b.WriteString(value)
		} else {
			b.WriteString(hidden)
		}
		text = text[end:]
	}
}

func containsFold(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// quoted hides parts of values in quotes, but for names and words of the job
// file.
func (c *concealment) quoted(text string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '"')
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i])
		text = text[i:]
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil { // one that does not end
			b.WriteString(hidden)
			return b.String()
		}
		text = text[len(quoted):]
		word, _ := strconv.Unquote(quoted)
		known := c.names[word] || strings.Contains(c.text, word)
		if c.values[word] || !known && c.any(func(value string) bool { return containsFold(value, word) }) {
			quoted = hidden
		}
		b.WriteString(quoted)
	}
}

func isInWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '-' }
