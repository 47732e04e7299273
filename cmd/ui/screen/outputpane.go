package screen

import (
	"fmt"
	"slices"
	"strings"

	"taskrun/cmd/prose"
	"taskrun/engine/leaf/event"
)

type outputPane struct {
	output  *output
	history *history
	tree    *tree
	dialog  *dialog
	colors  map[string]Color // of tasks, by name

	follow bool
	wrap   bool
	times  bool
	stream streams
	top    int // the first line that is shown, unless it follows: its number since the beginning
	word   string
	only   string // only lines with this word are shown
	view   outputView
	seen   []string // the visible lines
}

// outputView is the latest picture of the pane. A line that is wrapped has several rows.
type outputView struct {
	width, height, labels int
	top, lines            int // the first line, numbered as outputPane.top, and how many
}

// streams are those that are shown.
type streams int

const (
	both streams = iota
	stdoutOnly
	stderrOnly
)

var outputBindings = []binding{
	{keys: "f", does: "follow", help: "follow new output, or stay; G and End follow, too"},
	{keys: "n N", help: "the next and the previous line that / has found"},
	{keys: "&", does: "only", help: "show only lines with a word"},
	{keys: "w", does: "wrap", help: "wrap long lines, or cut them"},
	{keys: "t", does: "times", help: "show the time of each line"},
	{keys: "o", does: "stream", help: "show stdout, stderr or both"},
}

// detail says what is shown, beside the tabs.
func (p *outputPane) detail() Line {
	shown := p.tree.selected()
	what := fmt.Sprintf("%d tasks", len(shown))
	switch len(shown) {
	case 0:
		return nil
	case 1:
		what = p.history.labelOf(shown[0])
	case maxShown:
		what = fmt.Sprintf("the first %d tasks", maxShown)
	}
	l := Line{Text(what, Note)}
	for _, flag := range []struct {
		on   bool
		text string
	}{
		{p.stream == stdoutOnly, "stdout"},
		{p.stream == stderrOnly, "stderr"},
		{p.only != "", "only " + p.only},
		{p.word != "", "find " + p.word},
		{!p.follow, "paused"},
	} {
		if flag.on {
			l = append(l, Text("  "+flag.text, Wait))
		}
	}
	return l
}

func (p *outputPane) shows(l *outputLine) bool {
	if p.stream != both && (l.stream == event.Stderr) != (p.stream == stderrOnly) {
		return false
	}
	return p.only == "" || contains(l.text, p.only)
}

func (p *outputPane) lines(width, height int) []Line {
	all, first := p.output.lines, p.output.dropped
	several := len(p.tree.selected()) > 1
	labelWidth := 0
	if several {
		for _, t := range p.tree.selected() {
			labelWidth = max(labelWidth, prose.Width(p.history.labelOf(t)))
		}
		labelWidth = min(labelWidth, max(8, width/4))
	}
	p.view = outputView{width: width, height: height, labels: labelWidth}
	var lines []Line
	if p.follow {
		p.top, p.view.top = first+len(all), first+len(all)
		for i := len(all) - 1; i >= 0 && len(lines) < height; i-- {
			if p.shows(all[i]) {
				lines = append(p.line(all[i]), lines...)
				p.view.top, p.view.lines = first+i, p.view.lines+1
			}
		}
		lines = lines[max(0, len(lines)-height):]
	} else {
		for i := max(0, p.top-first); i < len(all) && len(lines) < height; i++ {
			if p.shows(all[i]) {
				lines = append(lines, p.line(all[i])...)
				p.view.lines++
			}
		}
		lines = lines[:min(len(lines), height)]
	}
	p.seen = p.seen[:0]
	for _, l := range lines {
		p.seen = append(p.seen, strings.TrimRight(l.String(), " "))
	}
	return lines
}

func (p *outputPane) line(l *outputLine) []Line {
	var prefix Line
	if p.times {
		prefix = append(prefix, Text(p.history.local(l.time).Format("15:04:05.000 "), Quiet))
	}
	if labels := p.view.labels; labels > 0 {
		label := prose.Shorten(p.history.labelOf(l.Target), labels)
		prefix = append(prefix, Line{Text(label, Style{Color: p.color(l.Task)})}.Fit(labels)...)
		prefix = append(prefix, Span{" │ ", Quiet})
	}
	style := Plain
	if l.stream == event.Stderr {
		style = Wait
	}
	text := Line{{l.text, style}}.marked(p.word)
	if !p.wrap {
		return []Line{append(prefix, text...)}
	}
	var lines []Line
	room := max(1, p.view.width-prefix.Width())
	for i, piece := range text.wrapped(room) {
		if i > 0 {
			prefix = Line{{Text: strings.Repeat(" ", prefix.Width())}}
		}
		lines = append(lines, slices.Concat(prefix, piece))
	}
	return lines
}

// scroll moves by a number of lines that are shown.
func (p *outputPane) scroll(n int) {
	all, first := p.output.lines, p.output.dropped
	if p.follow {
		if n > 0 {
			return
		}
		p.follow, p.top = false, p.view.top
	}
	down := n > 0
	at := max(0, min(p.top-first, len(all)))
	for step := 1; n != 0; n -= step {
		if n < 0 {
			step = -1
		}
		for at += step; at >= 0 && at < len(all) && !p.shows(all[at]); {
			at += step
		}
		if at < 0 || at >= len(all) {
			break
		}
	}
	p.top = first + max(0, at)
	p.follow = down && p.atEnd(at)
}

// atEnd reports whether the lines from one on have room on the screen.
func (p *outputPane) atEnd(at int) bool {
	rows := 0
	for ; at < len(p.output.lines) && rows <= p.view.height; at++ {
		if l := p.output.lines[at]; p.shows(l) {
			rows += len(p.line(l))
		}
	}
	return rows <= p.view.height
}

func (p *outputPane) key(k Key) bool {
	switch n, moved := moves(k, max(1, p.view.lines-1)); k {
	case "g", "home":
		p.follow, p.top = false, p.output.dropped
	case "G", "end":
		p.follow = true
	case "h", "left":
		*p.tree.focus = onTree
	case "f":
		if p.follow {
			p.scroll(0)
			return true
		}
		p.follow = true
	case "w":
		p.wrap = !p.wrap
	case "t":
		p.times = !p.times
	case "o":
		p.stream = (p.stream + 1) % 3
	case "/":
		p.dialog.ask("search", "", func(word string) {
			p.word = folded(word)
			p.find(-1)
		})
	case "&":
		p.dialog.ask("only lines with", p.only, func(word string) { p.only = folded(word) })
	case "n":
		p.find(1)
	case "N":
		p.find(-1)
	case "y":
		p.dialog.order(Order{Verb: Copy, Text: strings.Join(p.seen, "\n") + "\n"})
	case "esc":
		if p.word == "" && p.only == "" {
			return false
		}
		p.word, p.only = "", ""
	default:
		if moved {
			p.scroll(n)
		}
		return moved
	}
	return true
}

// find moves to the next line with the word, or the previous one.
func (p *outputPane) find(step int) {
	if p.word == "" {
		p.dialog.say("search for something first: /")
		return
	}
	all, first := p.output.lines, p.output.dropped
	for at := max(-1, min(p.top-first, len(all))) + step; at >= 0 && at < len(all); at += step {
		if l := all[at]; p.shows(l) && contains(l.text, p.word) {
			p.follow, p.top = false, first+at
			return
		}
	}
	p.dialog.say("not found: " + p.word)
}

func (p *outputPane) color(task string) Color {
	c, known := p.colors[task]
	if !known {
		c = taskColors[len(p.colors)%len(taskColors)]
		p.colors[task] = c
	}
	return c
}
