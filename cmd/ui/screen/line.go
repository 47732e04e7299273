package screen

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"taskrun/jobspec/visible"
)

// Color is one of the colors that a terminal's theme adapts to its background.
type Color uint8

// The colors. Without colors, a terminal ignores them.
const (
	NoColor Color = iota
	Green
	Yellow
	Red
	Cyan
	Magenta
	Blue
	BrightCyan
	BrightMagenta
	BrightBlue
)

// Style is how a text looks.
type Style struct {
	Color                            Color
	Bold, Faint, Reverse, Underlined bool
}

// The styles of panes.
var (
	Plain  = Style{}
	Strong = Style{Bold: true}
	Quiet  = Style{Faint: true}
	Good   = Style{Color: Green}
	Wait   = Style{Color: Yellow}
	Bad    = Style{Color: Red, Bold: true}
	Note   = Style{Color: Cyan}
)

// taskColors are for the labels of tasks; green, yellow and red are for states.
var taskColors = []Color{Cyan, Magenta, Blue, BrightMagenta, BrightBlue, BrightCyan}

// Span is text of one style, without control characters.
type Span struct {
	Text string
	Style
}

// Line is a line of the screen.
type Line []Span

// Text returns a span of untrusted text, whose control characters become visible.
func Text(text string, style Style) Span { return Span{visible.String(text), style} }

// LineOf returns a line of one span.
func LineOf(text string, style Style) Line { return Line{Text(text, style)} }

// String returns the text of the line.
func (l Line) String() string {
	var b strings.Builder
	for _, s := range l {
		b.WriteString(s.Text)
	}
	return b.String()
}

// Width returns how many columns the line needs.
func (l Line) Width() (n int) {
	for _, s := range l {
		n += ansi.StringWidth(s.Text)
	}
	return n
}

// Fit cuts the line, or fills it with blanks, to a number of columns.
func (l Line) Fit(width int) Line {
	fitted, left := make(Line, 0, len(l)+1), width
	for _, s := range l {
		w := ansi.StringWidth(s.Text)
		if w > left {
			s.Text = ansi.Truncate(s.Text, left, "…")
			w = ansi.StringWidth(s.Text)
		}
		if s.Text != "" {
			fitted = append(fitted, s)
		}
		if left -= w; left == 0 {
			return fitted
		}
	}
	return append(fitted, Span{Text: strings.Repeat(" ", left)})
}

// Reversed returns the line with the foreground and background of all of it
// exchanged.
func (l Line) Reversed() Line {
	reversed := make(Line, len(l))
	for i, s := range l {
		s.Reverse, s.Faint = true, false
		reversed[i] = s
	}
	return reversed
}

// wrapped returns the line in pieces of at most a number of columns.
func (l Line) wrapped(width int) (pieces []Line) {
	piece, left := Line{}, width
	for _, s := range l {
		for text := s.Text; text != ""; {
			head := ansi.Truncate(text, left, "")
			if head == "" && left == width { // a wide character in one column
				return append(pieces, piece)
			}
			if head != "" {
				piece = append(piece, Span{head, s.Style})
				left -= ansi.StringWidth(head)
			}
			if text = text[len(head):]; text != "" {
				pieces, piece, left = append(pieces, piece), Line{}, width
			}
		}
	}
	return append(pieces, piece)
}

// marked returns the line with all occurrences of a word in reverse. The word is
// folded.
func (l Line) marked(word string) Line {
	if word == "" {
		return l
	}
	var marked Line
	for _, s := range l {
		for i := strings.Index(folded(s.Text), word); i >= 0; i = strings.Index(folded(s.Text), word) {
			hit := Span{s.Text[i : i+len(word)], s.Style}
			hit.Reverse = true
			marked = append(marked, Span{s.Text[:i], s.Style}, hit)
			s.Text = s.Text[i+len(word):]
		}
		marked = append(marked, s)
	}
	return marked
}

// folded returns a text with small ASCII letters: it is as long as the text.
func folded(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, text)
}

func contains(text, word string) bool { return strings.Contains(folded(text), word) }
