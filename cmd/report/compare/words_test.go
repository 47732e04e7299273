package compare

import (
	"testing"
	"time"
)

func TestTarget(t *testing.T) {
	t.Parallel()
	for want, w := range map[string]Where{
		"": {}, "web": {Job: "web"}, "app[2]": {Group: "app", Index: 2}, "app[0]/t": {Group: "app", Task: "t"},
		"web/app[0]": {Job: "web", Group: "app"}, "web/app[1]/t": {Job: "web", Group: "app", Index: 1, Task: "t"},
	} {
		if got := w.Target(); got != want {
			t.Errorf("%+v: %q, want %q", w, got, want)
		}
	}
}

// The lifecycle of two tasks says which of their times depend on each other.
func TestArranged(t *testing.T) {
	t.Parallel()
	hooks := []string{"", "prestart", "prestart sidecar", "poststart", "poststart sidecar", "poststop"}
	want := [][]arrangement{ // first in rows, second in columns
		{unarranged, unarranged, unarranged, startFirst, startFirst, endFirst},
		{endFirst, unarranged, unarranged, endFirst, endFirst, endFirst},
		{startFirst, unarranged, unarranged, unarranged, unarranged, endFirst},
		{unarranged, unarranged, unarranged, unarranged, unarranged, endFirst},
		{unarranged, unarranged, unarranged, unarranged, unarranged, endFirst},
		{unarranged, unarranged, unarranged, unarranged, unarranged, unarranged},
	}
	for i, first := range hooks {
		for j, second := range hooks {
			if got := arranged(&Task{Lifecycle: &first}, &Task{Lifecycle: &second}); got != want[i][j] {
				t.Errorf("%q, then %q: %d, want %d", first, second, got, want[i][j])
			}
		}
		if got := arranged(&Task{Lifecycle: &first}, &Task{}); got != unarranged {
			t.Errorf("%q, then what is not known: %d", first, got)
		}
		if got := arranged(&Task{}, &Task{Lifecycle: &first}); got != unarranged {
			t.Errorf("what is not known, then %q: %d", first, got)
		}
	}
}

// An event shows the details in which it differs from one of the same message.
func TestTextOfEvents(t *testing.T) {
	t.Parallel()
	a := Event{Message: "m", Details: map[string]string{"same": "1", "other": "2", "b": "3", "a": "4"}}
	b := Event{Message: "m", Details: map[string]string{"same": "1", "other": "9", "more": "5"}}
	for name, tt := range map[string]struct {
		e    Event
		o    *Event
		want string
	}{
		"alone":           {a, nil, "m"},
		"details":         {a, &b, "m [a: 4] [b: 3] [other: 2]"},
		"the other way":   {b, &a, "m [more: 5] [other: 9]"},
		"another message": {a, &Event{Message: "n", Details: b.Details}, "m"},
		"of one no":       {a, &Event{Message: "m"}, "m"},
		"of this no":      {Event{Message: "m"}, &a, "m"},
		"a delay":         {Event{Message: "in DELAY", Delay: 1500*time.Millisecond + 1}, nil, "in 1.5s"},
		"no delay":        {Event{Message: "in DELAY"}, nil, "in DELAY"},
	} {
		if got := tt.e.text(tt.o); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// Nomad adds up to a quarter to a delay.
func TestAlikeDelays(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b time.Duration
		want bool
	}{
		{0, 0, true},
		{0, 1, false},
		{time.Second, time.Second, true},
		{time.Second, 1251 * time.Millisecond, true},
		{time.Second, 1251*time.Millisecond + 1, false},
		{1, time.Millisecond + 1, true},
	} {
		if alike(tt.a, tt.b) != tt.want || alike(tt.b, tt.a) != tt.want {
			t.Errorf("%v and %v: want %t", tt.a, tt.b, tt.want)
		}
	}
}
