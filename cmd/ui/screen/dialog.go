package screen

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// dialog is the exchange between screen and user: a message until the next key, a
// question, and orders.
type dialog struct {
	text     string // the latest message
	bad      bool   // it is an error
	question *prompt
	orders   []Order
}

// say shows a message until the next key.
func (d *dialog) say(text string) { d.text, d.bad = text, false }

// fail shows an error until the next key.
func (d *dialog) fail(err error) { d.text, d.bad = err.Error(), true }

func (d *dialog) order(o Order) { d.orders = append(d.orders, o) }

func (d *dialog) ask(text, begin string, answer func(string)) {
	d.question = &prompt{text: text, typed: begin, answer: answer}
}

// choose asks for one of several choices. Esc chooses none.
func (d *dialog) choose(text string, choices []Choice, answer func(string)) {
	d.question = &prompt{text: text, choices: choices, answer: answer}
}

func (d *dialog) confirm(text string, do func()) {
	d.choose(text, []Choice{{"y", "yes"}, {"n", "no"}}, func(answer string) {
		if answer == "y" {
			do()
		}
	})
}

// key handles a key while a question is open.
func (d *dialog) key(k Key) {
	p := d.question
	switch {
	case k == "esc" || k == "ctrl+c":
		d.question = nil
		if p.typing != nil {
			p.typing("")
		}
	case p.choices != nil:
		if slices.ContainsFunc(p.choices, func(c Choice) bool { return c.Key == k }) {
			d.question = nil
			p.answer(string(k))
		}
	case k == "enter":
		d.question = nil
		p.answer(p.typed)
	default:
		p.edit(k)
	}
}

// Choice is an answer to a question.
type Choice struct {
	Key  Key
	Does string // in a word or a few, for the question
}

// prompt is a question at the bottom of the screen. With choices, one key answers it;
// otherwise the user types a text and presses Enter. The first character
// replaces a text that is proposed; other keys change it.
type prompt struct {
	text    string
	typed   string
	kept    bool // typed is text that the user has typed, or wants to change
	choices []Choice
	answer  func(answer string) // of a choice: its key
	typing  func(typed string)  // called after each key; may be nil
}

// maxTyped limits what is typed.
const maxTyped = 256

// edit handles a key that changes the typed text.
func (p *prompt) edit(k Key) {
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

// line returns the visible question. If there is not enough room, choices have
// fewer words or none, and then only the end of the question is shown.
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

// whole returns the question with the first words of the description of each
// choice; negative means all.
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
