package page

import (
	"fmt"
	"html"
	"io"
	"math"
	"strconv"
	"time"

	"taskrun/cmd/report/trace"
	"taskrun/engine/fold"
	"taskrun/jobspec/visible"
)

// Heights and outlines are those of web/chart.js.
var heights = map[trace.Kind]float64{trace.Waiting: 3, trace.Setup: 8, trace.Running: 13, trace.Restarting: 5, trace.Stopping: 8}

// glyphs are the signs of states, with their classes.
var glyphs = map[string]struct{ text, class string }{
	"pending": {"○", "dim"}, "running": {"▶", "busy"}, "complete": {"✓", "good"}, "failed": {"✕", "bad"},
}

// outlines are shapes of several classes. Those of one class are one element,
// which keeps a picture small.
type outlines struct {
	classes []string // in order of appearance
	paths   map[string][]byte
}

// add adds a part of a path: letters, and numbers behind them.
func (o *outlines) add(class string, parts ...any) {
	path, known := o.paths[class]
	if !known {
		if o.paths == nil {
			o.paths = map[string][]byte{}
		}
		o.classes = append(o.classes, class)
	}
	for i, part := range parts {
		switch part := part.(type) {
		case string:
			path = append(path, part...)
		case float64:
			if _, behind := parts[max(i-1, 0)].(float64); behind {
				path = append(path, ' ')
			}
			path = appendNumber(path, part)
		}
	}
	o.paths[class] = path
}

func (o *outlines) box(class string, x, y, width, height float64) {
	o.add(class, "M", x, y, "h", width, "v", height, "h", -width, "z")
}

// mark adds a mark: the kind is its outline, the weight its size and color.
func (o *outlines) mark(kind trace.MarkKind, weight fold.Weight, x, y float64) {
	r := []float64{fold.Ordinary: 2.8, fold.Setback: 3.8, fold.Trouble: 4.4}[weight]
	class := "mark " + string(kind) + []string{fold.Setback: " setback", fold.Trouble: " trouble"}[weight]
	switch kind {
	case trace.Check, trace.Health:
		o.add(class, "M", x-r, y, "a", r, r, 0., 1., 0., 2*r, 0., "a", r, r, 0., 1., 0., -2*r, 0., "z")
	case trace.Deployment:
		o.add(class, "M", x-r, y+r, "l", r, -2*r, "l", r, 2*r, "z")
	case trace.Service:
		o.add(class, "M", x-r, y-r, "l", r, 2*r, "l", r, -2*r, "z")
	case trace.AllocStatus, trace.Registration:
		o.box(class, x-r, y-r, 2*r, 2*r)
	default:
		o.add(class, "M", x, y-r, "l", r, r, "l", -r, r, "l", -r, -r, "z")
	}
}

func (o *outlines) write(w io.Writer) {
	for _, class := range o.classes {
		fmt.Fprintf(w, `<path class="%s" d="%s"/>`+"\n", class, o.paths[class])
	}
}

// appendNumber formats a length with one digit behind the point.
func appendNumber(to []byte, x float64) []byte {
	return strconv.AppendFloat(to, math.Round(x*10)/10, 'f', -1, 64)
}

func number(x float64) string { return string(appendNumber(nil, x)) }

// duration formats a length of time with at most two units.
func duration(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d == 0:
		return "0"
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	case d < 10*time.Second:
		return d.Round(10 * time.Millisecond).String()
	}
	if tenths := d.Round(100 * time.Millisecond); tenths < time.Minute {
		return tenths.String()
	}
	for _, u := range []struct {
		large       time.Duration
		name        string
		small       time.Duration
		smallerName string
	}{{day, "d", time.Hour, "h"}, {time.Hour, "h", time.Minute, "m"}, {time.Minute, "m", time.Second, "s"}} {
		whole := d.Round(u.small)
		rest := whole % u.large / u.small
		switch {
		case whole < u.large:
		case rest == 0:
			return fmt.Sprintf("%d%s", whole/u.large, u.name)
		default:
			return fmt.Sprintf("%d%s%d%s", whole/u.large, u.name, rest, u.smallerName)
		}
	}
	return d.String()
}

func took(r *trace.Row) string {
	if d, ran := r.Took(); ran {
		return duration(d)
	}
	return "–"
}

// escape makes text visible, and safe in HTML and XML.
func escape(text string) string { return html.EscapeString(visible.String(text)) }
