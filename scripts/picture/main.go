// Picture runs a job and draws its output on a terminal, for the README:
//
//	go run ./scripts/picture
//
// It writes scripts/picture/dark.svg and light.svg.
package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// shown is the command to run, in the root of the repository.
var shown = []string{"up", "--exit-code-from", "tests", "testdata/jobs/smoke.nomad.hcl"}

// theme has the colors of a terminal, by the codes of SGR.
type theme struct {
	name                  string
	background, text, dim string
	colors                map[int]string
}

var themes = []theme{
	{"dark", "#0d1117", "#e6edf3", "#8b949e", palette("#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf")},
	{"light", "#ffffff", "#1f2328", "#656d76", palette("#cf222e", "#1a7f37", "#9a6700", "#0969da", "#8250df", "#1b7c83")},
}

// palette maps red, green, yellow, blue, magenta and cyan, plain and bright.
func palette(colors ...string) map[int]string {
	codes := map[int]string{}
	for i, c := range colors {
		codes[31+i], codes[91+i] = c, c
	}
	return codes
}

// Size of a character and of the margin, in pixels.
const (
	charWidth  = 8.0
	lineHeight = 19
	margin     = 16
)

func main() {
	if err := draw(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func draw(ctx context.Context) error {
	screen, err := run(ctx)
	if err != nil {
		return err
	}
	lines := append([]string{"$ taskrun " + strings.Join(shown, " ")}, strings.Split(strings.TrimSpace(screen), "\n")...)
	for _, t := range themes {
		if err := os.WriteFile(filepath.Join("scripts/picture", t.name+".svg"), []byte(t.svg(lines)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// run returns the output of the command, with its colors. It accepts any exit
// code.
func run(ctx context.Context) (string, error) {
	dir, err := os.MkdirTemp("", "picture")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	taskrun := filepath.Join(dir, "taskrun")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", taskrun, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	cmd := exec.CommandContext(ctx, taskrun, append(shown, "--color", "always", "--data-dir", filepath.Join(dir, "data"))...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", err
	}
	return string(out), nil
}

var sgr = regexp.MustCompile(`\x1b\[([0-9;]*)m`)

// svg draws the lines of a terminal.
func (t theme) svg(lines []string) string {
	width := 0
	for _, line := range lines {
		width = max(width, utf8.RuneCountInString(sgr.ReplaceAllString(line, "")))
	}
	var out strings.Builder
	w, h := int(float64(width)*charWidth)+2*margin, len(lines)*lineHeight+2*margin
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n", w, h, w, h)
	fmt.Fprintf(&out, "<title>%s</title>\n", html.EscapeString(strings.TrimPrefix(lines[0], "$ ")))
	fmt.Fprintf(&out, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", t.background)
	fmt.Fprintf(&out, `<g font-family="ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" fill="%s">`+"\n", t.text)
	for i, line := range lines {
		t.line(&out, line, margin+(i+1)*lineHeight-5)
	}
	out.WriteString("</g>\n</svg>\n")
	return out.String()
}

// line draws each run of characters with the same style at its column,
// independently of the font.
func (t theme) line(out *strings.Builder, line string, y int) {
	column, style := 0, ""
	for line != "" {
		end, next := len(line), len(line)
		at := sgr.FindStringSubmatchIndex(line)
		codes := ""
		if at != nil {
			end, next, codes = at[0], at[1], line[at[2]:at[3]]
		}
		text := line[:end]
		n := utf8.RuneCountInString(text)
		if strings.TrimSpace(text) != "" {
			fmt.Fprintf(out, `<text x="%g" y="%d" textLength="%g" xml:space="preserve"%s>%s</text>`+"\n",
				margin+float64(column)*charWidth, y, float64(n)*charWidth, style, html.EscapeString(text))
		}
		column, line = column+n, line[next:]
		if at != nil {
			style = t.style(codes)
		}
	}
}

// style returns the attributes for the codes of one sequence; taskrun never
// combines two codes.
func (t theme) style(codes string) string {
	for _, code := range strings.Split(codes, ";") {
		n, _ := strconv.Atoi(code) // an empty one is 0
		switch {
		case n == 1:
			return ` font-weight="bold"`
		case n == 2:
			return fmt.Sprintf(` fill="%s"`, t.dim)
		case t.colors[n] != "":
			return fmt.Sprintf(` fill="%s"`, t.colors[n])
		}
	}
	return ""
}
