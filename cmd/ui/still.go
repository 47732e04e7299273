package ui

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"taskrun/cmd/prose"
)

// Still is a picture on the terminal behind stdout that is replaced by the next one in
// its place. It changes no modes of the terminal, so nothing has to be undone.
type Still struct {
	out    io.Writer
	size   func() (width, height int)
	widths []int // of the lines that are shown
}

// Still returns a picture below everything that was written to stdout.
func (s *Streams) Still() *Still { return &Still{out: s.Out, size: s.size} }

// Size returns the columns and lines of the terminal.
func (p *Still) Size() (width, height int) { return p.size() }

// Show replaces the picture. The lines should fit the terminal.
func (p *Still) Show(lines []string) error {
	var b strings.Builder
	b.WriteString(p.erase())
	for _, line := range lines {
		b.WriteString(line)
		b.WriteString("\n")
		p.widths = append(p.widths, prose.Width(line))
	}
	_, err := io.WriteString(p.out, b.String())
	return err
}

// Erase removes the picture.
func (p *Still) Erase() error {
	_, err := io.WriteString(p.out, p.erase())
	return err
}

// erase returns the text that removes the picture. A terminal that has become narrower
// has wrapped its lines.
func (p *Still) erase() string {
	width, _ := p.size()
	up := 0
	for _, w := range p.widths {
		up += max(1, (w+width-1)/max(1, width))
	}
	p.widths = nil
	if up == 0 {
		return ""
	}
	return fmt.Sprintf("%s\r%s", ansi.CursorUp(up), ansi.EraseScreenBelow)
}
