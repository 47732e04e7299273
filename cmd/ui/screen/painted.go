package screen

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// painted returns a line of a picture that has colors, see ui.Style.
func painted(text string) (l Line) {
	var style Style
	var state byte
	for text != "" {
		sequence, width, n, next := ansi.DecodeSequence(text, state, nil)
		switch {
		case width == 0 && strings.HasPrefix(sequence, "\x1b["):
			style = style.with(strings.TrimSuffix(sequence[2:], "m"))
		case len(l) > 0 && l[len(l)-1].Style == style:
			l[len(l)-1].Text += sequence
		default:
			l = append(l, Span{sequence, style})
		}
		text, state = text[n:], next
	}
	return l
}

// with returns the style after the parameters of a control sequence, as far as
// ui.Style has them.
func (s Style) with(parameters string) Style {
	for p := range strings.SplitSeq(parameters, ";") {
		switch p {
		case "", "0":
			s = Plain
		case "1":
			s.Bold = true
		case "2":
			s.Faint = true
		case "22":
			s.Bold, s.Faint = false, false
		case "31":
			s.Color = Red
		case "32":
			s.Color = Green
		case "33":
			s.Color = Yellow
		case "36":
			s.Color = Cyan
		}
	}
	return s
}
