// Package page writes the trace of a run as a page for a browser, and as a picture:
// a trace in, bytes out.
//
// The page is one file that loads nothing. Everything from a job, its tasks and
// their output is data, which the script of the page inserts as text.
package page

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"taskrun/cmd/report/trace"
)

// web has the parts of the page.
//
//go:embed web
var web embed.FS

// HTML writes a page that shows a trace and the output of its tasks.
func HTML(w io.Writer, t *trace.Trace, output []Output) error {
	style := read("chart.css", "page.css")
	script := "\n(() => {\n\"use strict\";\n" +
		read("time.js", "data.js", "chart.js", "zoom.js", "details.js", "filter.js", "keys.js", "main.js") + "})();\n"
	out := bufio.NewWriter(w)
	for rest := read("page.html"); ; {
		before, marker, found := strings.Cut(rest, "{{")
		out.WriteString(before)
		if !found {
			return out.Flush()
		}
		name, after, _ := strings.Cut(marker, "}}")
		switch name {
		case "policy":
			fmt.Fprintf(out, "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src %s; script-src %s", hash(style), hash(script))
		case "title":
			out.WriteString(escape(title(t)))
		case "style":
			out.WriteString(style)
		case "data":
			if err := writeData(out, t, output); err != nil {
				return err
			}
		case "script":
			out.WriteString(script)
		case "svg":
			draw(out, t, "")
		}
		rest = after
	}
}

// SVG writes a picture of a trace. It shows the first rows of a large one.
func SVG(w io.Writer, t *trace.Trace) error {
	out := bufio.NewWriter(w)
	draw(out, t, read("chart.css"))
	return out.Flush()
}

// hash returns the source of an inline script or style in a content security policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// read returns files of the page, one after the other.
func read(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		text, err := web.ReadFile("web/" + name)
		if err != nil {
			panic(err) // it is part of the program
		}
		b.Write(text)
	}
	return b.String()
}
