package screen

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// prompt is a question at the bottom of the screen. With choices, one key answers it;
// otherwise the user types a text and presses Enter. The first character
// replaces a text that is proposed; other keys change it.
type prompt struct {
	text    string
	typed   string
	kept    bool // typed is what the user has typed, or wants to change
	choices []Choice
	answer  func(answer string) // of a choice: its key
	typing  func(typed string)  // called after each key; may be nil
}

// ask asks for a text.
func (m *Model) ask(text, begin string, answer func(string)) {
	m.askin = &prompt{text: text, typed: begin, answer: answer}
}

// choose asks for one of several choices. Esc chooses none.
func (m *Model) choose(text string, choices []Choice, answer func(string)) {
	m.askin = &prompt{text: text, choices: choices, answer: answer}
}

// confirm asks whether to do something.
func (m *Model) confirm(text string, do func()) {
	m.choose(text, []Choice{{"y", "yes"}, {"n", "no"}}, func(answer string) {
		if answer == "y" {
			do()
		}
	})
}

// maxTyped limits what is typed.
const maxTyped = 256

// key handles a key while the question is open.
func (p *prompt) key(m *Model, k Key) {
	switch {
	case k == "esc" || k == "ctrl+c":
		m.askin = nil
		if p.typing != nil {
			p.typing("")
		}
		return
	case p.choices != nil:
		for _, c := range p.choices {
			if c.Key == k {
				m.askin = nil
				p.answer(string(k))
				return
			}
		}
		return
	case k == "enter":
		m.askin = nil
		p.answer(p.typed)
		return
	}
	if !p.kept && (k == "space" || utf8.RuneCountInString(string(k)) == 1) {
		p.typed = ""
	}
	p.kept = true
	switch {
	case k == "backspace":
		_, n := utf8.DecodeLastRuneInString(p.typed)
		p.typed = p.typed[:len(p.typed)-n]
	case k == "ctrl+u":
		p.typed = ""
	case k == "space":
		p.typed += " "
	case utf8.RuneCountInString(string(k)) == 1 && len(p.typed) < maxTyped:
		p.typed += string(k)
	}
	if p.typing != nil {
		p.typing(p.typed)
	}
}

// line returns the question as it is shown. Without room, choices are in fewer words or
// none; of what is still too long, the end is shown.
func (p *prompt) line(width int) Line {
	var l Line
	for _, words := range []int{-1, 1, 0} {
		if l = p.whole(words); l.Width() <= width {
			break
		}
	}
	for over := l.Width() - width; over > 0 && len(l) > 0; over = l.Width() - width {
		if w := ansi.StringWidth(l[0].Text); w > over+1 {
			l[0].Text = "…" + ansi.TruncateLeft(l[0].Text, over+1, "")
			break
		}
		l = l[1:]
	}
	return l
}

// whole returns the question with the first words of what each choice does; negative:
// all.
func (p *prompt) whole(words int) Line {
	if p.choices == nil {
		cursor := Style{Reverse: true}
		if !p.kept && p.typed != "" { // it looks selected, as typing replaces it
			return Line{Text(p.text+": ", Strong), {Text: p.typed, Style: cursor}}
		}
		return Line{Text(p.text+": ", Strong), Text(p.typed, Plain), {Text: " ", Style: cursor}}
	}
	l := Line{Text(p.text+" ", Strong)}
	for _, c := range append(slices.Clone(p.choices), Choice{"esc", "back"}) {
		does := strings.Fields(c.Does)
		if words >= 0 {
			does = does[:min(words, len(does))]
		}
		l = append(l, Text(" "+string(c.Key), Note))
		if len(does) > 0 {
			l = append(l, Text(" "+strings.Join(does, " ")+" ", Plain))
		}
	}
	return l
}
