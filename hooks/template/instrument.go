package template

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// Names of the functions that instrument adds to templates, see guard.
const (
	stepFunc  = "taskrunStep"
	outFunc   = "taskrunOut"
	valueFunc = "taskrunValue"
)

// instrumented is the text of a template with calls to a guard: package
// text/template cannot be interrupted, and its memory cannot be limited. There
// is a call at the beginning of each branch and of each iteration of a loop,
// with the length of the text there; a call with each value that is written;
// and a call with each value that is assigned or in parentheses. Line numbers
// do not change.
type instrumented struct {
	text     string
	inserted []insertion // in order
}

// insertion is a text that was inserted.
type insertion struct{ at, length int } // at: offset in the complete text

// instrument instruments a template. It returns the text unchanged if it is not
// a valid template, or has delimiters that could be part of a word.
func instrument(text, left, right string) instrumented {
	if left == "" {
		left = "{{"
	}
	if right == "" {
		right = "}}"
	}
	if !isMark(left) || !isMark(right) {
		return instrumented{text: text}
	}
	i := &instrumenter{in: text, left: left, right: right}
	if !i.scan() {
		return instrumented{text: text}
	}
	return i.insert()
}

// isMark reports whether a delimiter cannot be mistaken for something else in an
// action.
func isMark(delim string) bool {
	return !strings.ContainsFunc(delim, func(r rune) bool {
		return r == '_' || r >= 0x80 || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsSpace(r) || strings.ContainsRune("\"'`()-./", r)
	})
}

// instrumenter goes through a template once, and notes what to insert where.
type instrumenter struct {
	in, left, right string
	calls           []call
	open            []*block // that have not ended
}

// call is one of the functions, to be called where it is inserted.
type call struct {
	at   int // in the text
	text string
	step *block // whose length of text is part of the call
	trim bool   // white space behind it goes
}

// block is a part of a template between two actions that belong together.
type block struct {
	length int  // of the text in it
	define bool // it is a template of its own
	empty  bool
}

// scan reports whether the text can be understood.
func (i *instrumenter) scan() bool {
	for at := 0; ; {
		begin := strings.Index(i.in[at:], i.left)
		if begin < 0 {
			i.literal(i.in[at:])
			return len(i.open) == 0
		}
		i.literal(i.in[at : at+begin])
		begin += at
		end, ok := i.action(begin + len(i.left))
		if !ok {
			return false
		}
		at = end
	}
}

// literal takes in text between actions.
func (i *instrumenter) literal(text string) {
	if len(i.open) == 0 {
		return
	}
	b := i.open[len(i.open)-1]
	b.length += len(text)
	b.empty = b.empty && strings.TrimSpace(text) == ""
}

// action takes in an action that begins at a place behind the left delimiter,
// and returns the place behind its right one.
func (i *instrumenter) action(begin int) (end int, ok bool) {
	if strings.HasPrefix(i.in[begin:], "-") && begin+1 < len(i.in) && isSpace(i.in[begin+1]) {
		begin += 2
	}
	if strings.HasPrefix(i.in[begin:], "/*") {
		length := strings.Index(i.in[begin:], "*/")
		if length < 0 {
			return 0, false
		}
		_, end, ok = i.atRight(begin + length + 2)
		return end, ok
	}
	closing, mark := []int(nil), 0 // the places of closing parentheses, and where the action ends
	for at := begin; ; at++ {
		if at >= len(i.in) {
			return 0, false
		}
		if mark, end, ok = i.atRight(at); ok {
			break
		}
		switch c := i.in[at]; c {
		case ')':
			closing = append(closing, at)
		case '"', '\'', '`':
			if at = i.quoted(at); at < 0 {
				return 0, false
			}
		}
	}
	trim := end-mark > len(i.right)
	return end, i.understand(i.in[begin:mark], begin, mark, end, trim, closing)
}

// atRight reports whether there is a right delimiter at an offset. It begins at
// mark, or before it with a trim marker.
func (i *instrumenter) atRight(at int) (mark, end int, ok bool) {
	rest := i.in[at:]
	if len(rest) > 2 && isSpace(rest[0]) && rest[1] == '-' && strings.HasPrefix(rest[2:], i.right) {
		return at, at + 2 + len(i.right), true
	}
	if strings.HasPrefix(rest, i.right) {
		return at, at + len(i.right), true
	}
	return 0, 0, false
}

// quoted returns the offset of the end of a quoted text, or a negative number.
func (i *instrumenter) quoted(at int) int {
	quote := i.in[at]
	for at++; at < len(i.in); at++ {
		switch c := i.in[at]; {
		case c == quote:
			return at
		case c == '\\' && quote != '`':
			at++
		case c == '\n' && quote != '`':
			return -1
		}
	}
	return -1
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

var word = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*([a-z]+)\b`) })

// understand records the insertions into an action and after it.
func (i *instrumenter) understand(action string, begin, mark, end int, trim bool, closing []int) bool {
	keyword := ""
	if m := word().FindStringSubmatch(action); m != nil {
		keyword = m[1]
	}
	for _, at := range closing {
		i.calls = append(i.calls, call{at: at, text: " | " + valueFunc})
	}
	if n := len(i.open); n > 0 && keyword != "end" {
		i.open[n-1].empty = false
	}
	switch keyword {
	case "end":
		if len(i.open) == 0 {
			return false
		}
		i.open = i.open[:len(i.open)-1]
	case "else":
		if len(i.open) == 0 {
			return false
		}
		i.open = i.open[:len(i.open)-1]
		i.begin(end, trim, false)
	case "range", "if", "with", "block", "define":
		i.begin(end, trim, keyword == "define" || keyword == "block")
	case "template", "break", "continue":
	default:
		if strings.TrimSpace(action) == "" {
			return true // the text is not valid
		}
		name := outFunc
		if strings.HasPrefix(strings.TrimSpace(action), "$") && strings.Contains(action, "=") {
			name = valueFunc
		}
		i.calls = append(i.calls, call{at: mark, text: " | " + name})
	}
	return begin <= mark
}

func (i *instrumenter) begin(at int, trim, define bool) {
	b := &block{define: define, empty: true}
	i.open = append(i.open, b)
	i.calls = append(i.calls, call{at: at, step: b, trim: trim})
}

// insert returns the text with all calls.
func (i *instrumenter) insert() instrumented {
	var out strings.Builder
	var done []insertion
	at := 0
	for _, c := range i.calls {
		text := c.text
		if c.step != nil {
			if c.step.define && c.step.empty {
				continue // the block would no longer be empty, and would replace another one
			}
			text = fmt.Sprintf("%s%s %d %s", i.left, stepFunc, c.step.length, i.right)
			if c.trim {
				text = fmt.Sprintf("%s%s %d -%s", i.left, stepFunc, c.step.length, i.right)
			}
		}
		out.WriteString(i.in[at:c.at])
		at = c.at
		done = append(done, insertion{out.Len(), len(text)})
		out.WriteString(text)
	}
	out.WriteString(i.in[at:])
	return instrumented{out.String(), done}
}

// position matches the beginning of an error of text/template.
var position = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`template: :(\d+):(\d+):`) })

// original returns the text of an error with the positions in the original
// template, and without the calls.
func (i *instrumented) original(message string) string {
	message = position().ReplaceAllStringFunc(message, func(found string) string {
		m := position().FindStringSubmatch(found)
		line, _ := strconv.Atoi(m[1])
		column, _ := strconv.Atoi(m[2])
		start := 0
		for range line - 1 {
			start += strings.IndexByte(i.text[start:], '\n') + 1
		}
		before := column
		for _, in := range i.inserted {
			if in.at >= start && in.at < start+before {
				column -= in.length
			}
		}
		return fmt.Sprintf("template: :%d:%d:", line, column)
	})
	return strings.NewReplacer(" | "+outFunc, "", " | "+valueFunc, "").Replace(message)
}
