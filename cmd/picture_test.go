package cmd

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// picture is the content of a terminal. It interprets the sequences that full
// screens use: placing the cursor, clearing the screen or the rest of a line.
// Colors do not count.
type picture struct {
	lines [][]rune
	x, y  int
	rest  string // an unfinished sequence
}

// sequences are those of a terminal; the first group has the parameters of a control
// sequence, and the second one its kind.
var sequences = regexp.MustCompile(`^\x1b(?:\[([0-9;?<>=]*)([ -/]*[@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-Z]|[=>78Mc])`)

func (p *picture) write(text string) {
	text, p.rest = p.rest+text, ""
	for text != "" {
		if text[0] == '\x1b' {
			m := sequences.FindStringSubmatch(text)
			if m == nil {
				p.rest = text
				return
			}
			p.obey(m[1], m[2])
			text = text[len(m[0]):]
			continue
		}
		for i, r := range text {
			if r == '\x1b' {
				text = text[i:]
				break
			}
			p.put(r)
			if i+len(string(r)) >= len(text) {
				text = ""
			}
		}
	}
}

func (p *picture) obey(params, kind string) {
	number := func(i int) int {
		words := append(strings.Split(params, ";"), "", "")
		n, _ := strconv.Atoi(words[i])
		return max(0, n-1)
	}
	switch kind {
	case "H":
		p.y, p.x = number(0), number(1)
	case "J":
		p.lines = nil
	case "K":
		if p.y < len(p.lines) {
			p.lines[p.y] = p.lines[p.y][:min(p.x, len(p.lines[p.y]))]
		}
	}
}

func (p *picture) put(r rune) {
	switch r {
	case '\r':
		p.x = 0
	case '\n':
		p.y++
	default:
		for len(p.lines) <= p.y {
			p.lines = append(p.lines, nil)
		}
		for len(p.lines[p.y]) <= p.x {
			p.lines[p.y] = append(p.lines[p.y], ' ')
		}
		p.lines[p.y][p.x] = r
		p.x++
	}
}

// String returns the lines without blanks at their ends.
func (p *picture) String() string {
	var b strings.Builder
	for _, l := range p.lines {
		b.WriteString(strings.TrimRight(string(l), " ") + "\n")
	}
	return b.String()
}

// shows waits until the screen matches.
func shows(script *testscript.TestScript, t *terminal, pattern string) {
	re, err := regexp.Compile("(?m)" + pattern)
	script.Check(err)
	timeout := time.After(scriptTime)
	for !re.MatchString(t.picture.String()) {
		select {
		case s := <-t.output:
			t.take(s)
		case <-timeout:
			script.Fatalf("the screen does not show %q:\n%s", pattern, t.picture.String())
		}
	}
}
