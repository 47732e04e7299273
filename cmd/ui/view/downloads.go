package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/prose"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec/visible"
)

// barWidth is the maximum width of a bar, and minLine the minimum width of a
// line, in columns.
const (
	barWidth = 30
	minLine  = 20
)

// downloads are the downloads in progress, in the order of their first events.
type downloads []download

type download struct {
	event.Progress
	at    time.Time // of the latest progress
	alloc *event.Alloc
	task  string
}

// take updates the downloads with an event. If the last progress of a download
// was lost, the next event of its task ends it.
func (d *downloads) take(e event.Event) {
	switch body := e.Body.(type) {
	case event.Progress:
		same := func(o download) bool { return o.alloc == e.Alloc && o.task == e.Task && o.What == body.What }
		i := slices.IndexFunc(*d, same)
		switch {
		case body.Over:
			*d = slices.DeleteFunc(*d, same)
		case i >= 0:
			(*d)[i].Progress, (*d)[i].at = body, e.Time
		default:
			*d = append(*d, download{body, e.Time, e.Alloc, e.Task})
		}
	case event.TaskEvent:
		if body.Type != api.TaskDriverMessage {
			*d = slices.DeleteFunc(*d, func(o download) bool { return o.alloc == e.Alloc && o.task == e.Task })
		}
	}
}

func (d downloads) latest() (at time.Time) {
	for _, o := range d {
		if o.at.After(at) {
			at = o.at
		}
	}
	return at
}

// line formats the downloads as a line of less than the given columns. It returns
// "" without downloads, or if there is not enough room.
func (d downloads) line(label func(download) string, columns int) string {
	if len(d) == 0 || columns < minLine {
		return ""
	}
	width := ansi.StringWidth
	all, who := d[0].Progress, label(d[0])
	if len(d) > 1 {
		all = event.Progress{What: prose.Count(len(d), "download")}
		for _, o := range d {
			all.Done, all.Total = all.Done+o.Done, all.Total+max(0, o.Total)
		}
		who = strings.Repeat(" ", width(who))
	}
	begin, end := who+" ▸ "+visible.String(all.What), cmp.Or(all.Amount(), "…")
	if all.Detail != "" {
		end += ", " + visible.String(all.Detail)
	}
	room := columns - 1 - width(begin) - width(end) - len(" [] ")
	switch {
	case all.Total > 0 && room >= 10:
		full := int(min(all.Done, all.Total) * int64(min(room, barWidth)) / all.Total)
		bar := strings.Repeat("=", full) + strings.Repeat(" ", min(room, barWidth)-full)
		return begin + " [" + bar + "] " + end
	case room < 0: // removes the middle of a long name
		begin = prose.Shorten(begin, max(width(who)+10, width(begin)+room))
	}
	return prose.Shorten(begin+" "+end, columns-1)
}
