package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"
)

// events adds the events of a task that one run has and the other has not. Two
// events of the same type in the same place are one difference.
func (c *comparison) events(w Where, a, b *Task) {
	as, bs := a.Events, b.Events
	if ring := max(c.a.Ring, c.b.Ring); ring > 0 {
		as, bs = as[max(0, len(as)-ring):], bs[max(0, len(bs)-ring):]
		as, bs = ofAnySide(as), ofAnySide(bs)
	}
	for len(as) > 0 && len(bs) > 0 && as[0].equal(bs[0]) {
		as, bs = as[1:], bs[1:]
	}
	for len(as) > 0 && len(bs) > 0 && as[len(as)-1].equal(bs[len(bs)-1]) {
		as, bs = as[:len(as)-1], bs[:len(bs)-1]
	}
	// Of several alignments, the sides must not decide which one it is.
	flipped := slices.CompareFunc(as, bs, func(e, f Event) int { return strings.Compare(e.full(), f.full()) }) > 0
	if flipped {
		as, bs = bs, as
	}
	for _, p := range align(as, bs) {
		d := Difference{Where: w, Key: Key{Kind: TaskEvent}, AtA: Unknown, AtB: Unknown}
		switch {
		case p.a != nil && p.b != nil:
			d.Name = p.a.Type
			textA, textB := p.a.text(p.b), p.b.text(p.a)
			d.A, d.AtA, d.B, d.AtB = &textA, p.a.At, &textB, p.b.At
		case p.a != nil:
			d.Name, d.A, d.AtA = p.a.Type, new(p.a.text(nil)), p.a.At
		default:
			d.Name, d.B, d.AtB = p.b.Type, new(p.b.text(nil)), p.b.At
		}
		if flipped {
			d.A, d.B, d.AtA, d.AtB = d.B, d.A, d.AtB, d.AtA
		}
		c.add(d)
	}
}

// launching is the start of the message of a failed start, after which a Nomad agent
// writes the words of its own inner call.
const launching = "failed to launch command with executor: "

// ofAnySide returns events without what only one of taskrun and Nomad writes.
func ofAnySide(events []Event) []Event {
	events = slices.Clone(events)
	for i, e := range events {
		if e.Type == api.TaskDriverFailure && strings.HasPrefix(e.Message, strings.TrimSpace(launching)) {
			events[i].Message, events[i].Details = launching+"…", nil
		}
	}
	return events
}

// equal reports whether events are the same, except for details that differ from
// run to run.
func (e Event) equal(f Event) bool {
	return e.Type == f.Type && e.Message == f.Message && alike(e.Delay, f.Delay) &&
		(e.Details == nil || f.Details == nil || maps.Equal(e.Details, f.Details))
}

// alike reports whether two delays can have the same base: Nomad adds up to 25 %.
// Delays are rounded to milliseconds in some places.
func alike(a, b time.Duration) bool {
	if a > b {
		a, b = b, a
	}
	return a == b || a > 0 && b <= a+a/4+time.Millisecond
}

// text returns the event in words, with those details in which it differs from
// another one of the same message.
func (e Event) text(other *Event) string {
	text := e.Message
	if e.Delay > 0 {
		text = strings.Replace(text, delayed, e.Delay.Round(time.Millisecond).String(), 1)
	}
	if other == nil || e.Message != other.Message || e.Details == nil || other.Details == nil {
		return text
	}
	for _, key := range slices.Sorted(keys(e.Details, other.Details)) {
		v, ok := e.Details[key]
		if w, both := other.Details[key]; ok && (!both || v != w) {
			text += fmt.Sprintf(" [%s: %s]", key, v)
		}
	}
	return text
}

// full returns all of an event but its time.
func (e Event) full() string {
	return fmt.Sprint(e.Type, "\x00", e.Message, "\x00", e.Details, "\x00", e.Delay)
}

// pair is two events that correspond, or one that has no counterpart.
type pair struct{ a, b *Event }

// align returns the events that are not in a longest common subsequence, those of
// the same type and place as pairs.
func align(as, bs []Event) (pairs []pair) {
	// common[i][j] is the length of the subsequence of as[i:] and bs[j:].
	common := make([][]int, len(as)+1)
	for i := range common {
		common[i] = make([]int, len(bs)+1)
	}
	for i, e := range slices.Backward(as) {
		for j, f := range slices.Backward(bs) {
			if e.equal(f) {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	fromA, fromB := 0, 0
	for i < len(as) && j < len(bs) {
		switch {
		case as[i].equal(bs[j]):
			pairs = append(pairs, byType(as[fromA:i], bs[fromB:j])...)
			i, j = i+1, j+1
			fromA, fromB = i, j
		case common[i+1][j] >= common[i][j+1]:
			i++
		default:
			j++
		}
	}
	return append(pairs, byType(as[fromA:], bs[fromB:])...)
}

// byType pairs events of the same type, in their order.
func byType(as, bs []Event) (pairs []pair) {
	for len(as) > 0 && len(bs) > 0 {
		switch {
		case as[0].Type == bs[0].Type:
			pairs = append(pairs, pair{&as[0], &bs[0]})
			as, bs = as[1:], bs[1:]
		case slices.ContainsFunc(as, func(e Event) bool { return e.Type == bs[0].Type }):
			pairs = append(pairs, pair{a: &as[0]})
			as = as[1:]
		default:
			pairs = append(pairs, pair{b: &bs[0]})
			bs = bs[1:]
		}
	}
	for i := range as {
		pairs = append(pairs, pair{a: &as[i]})
	}
	for i := range bs {
		pairs = append(pairs, pair{b: &bs[i]})
	}
	return pairs
}
