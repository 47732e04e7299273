// Package prose puts values into words: numbers with nouns, durations, names of
// one line, and how many columns of a terminal they take.
package prose

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"taskrun/jobspec/visible"
)

// OneLine puts a text on one line and makes control characters visible.
func OneLine(text string) string { return visible.String(strings.Join(strings.Fields(text), " ")) }

// ShortID returns the short form of an ID.
func ShortID(id string) string { return id[:min(8, len(id))] }

// Width returns how many columns a terminal needs for a text.
func Width(text string) int { return ansi.StringWidth(text) }

// Unstyled removes escape sequences, such as those for colors, from a text.
func Unstyled(text string) string { return ansi.Strip(text) }

// Count returns a number with a noun: "1 task", "2 tasks".
func Count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// Duration formats a duration for people.
func Duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "<1ms"
	case d < 10*time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	default:
		return d.Round(time.Second).String()
	}
}

// Brief formats a duration with its two largest units.
func Brief(d time.Duration) string {
	switch {
	case d < time.Second:
		return Duration(d)
	case d < time.Hour:
		return d.Truncate(time.Second).String()
	}
	return strings.TrimSuffix(d.Truncate(time.Minute).String(), "0s")
}

// Shorten removes the middle of a text that is too wide: its ends distinguish
// tasks, and so does the index of GROUP[INDEX]/TASK.
func Shorten(text string, limit int) string {
	const least = 3 // minimum width of the group and of the task
	group, rest, _ := strings.Cut(text, "[")
	index, task, indexed := strings.Cut(rest, "]/")
	if _, err := strconv.Atoi(index); err != nil || !indexed {
		return cut(text, limit)
	}
	index = "[" + index + "]/"
	room := limit - len(index)
	if room < 2*least {
		return cut(text, limit)
	}
	first := min(ansi.StringWidth(group), max(room-ansi.StringWidth(task), room/3, least))
	return cut(group, first) + index + cut(task, room-first)
}

// cut removes the middle of a text that is too wide.
func cut(text string, limit int) string {
	width := ansi.StringWidth(text)
	if width <= limit {
		return text
	}
	head := (limit - 1) / 2
	rest, room := text, limit-1-head
	for skip := width - room; ansi.StringWidth(rest) > room; skip++ { // half of a wide character has no width
		rest = ansi.TruncateLeft(text, skip, "")
	}
	return ansi.Truncate(text, head, "") + "…" + rest
}
