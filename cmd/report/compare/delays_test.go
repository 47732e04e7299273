package compare

import (
	"testing"
	"time"
)

// Nomad makes a delay up to a quarter longer.
func TestAlike(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b time.Duration
		want bool
	}{
		{0, 0, true},
		{0, 1, false},
		{4 * time.Second, 4 * time.Second, true},
		{4 * time.Second, 5*time.Second + time.Millisecond, true},
		{4 * time.Second, 5*time.Second + time.Millisecond + 1, false},
		{1, time.Millisecond, true},
	} {
		if alike(tt.a, tt.b) != tt.want || alike(tt.b, tt.a) != tt.want {
			t.Errorf("%v and %v: %v, %v, want %v", tt.a, tt.b, alike(tt.a, tt.b), alike(tt.b, tt.a), tt.want)
		}
	}
}

// Details count if both sides know them.
func TestEqualEvents(t *testing.T) {
	t.Parallel()
	base := func() Event {
		return Event{At: 1, Type: "Started", Message: "m", Details: map[string]string{"k": "v"}, Delay: time.Second}
	}
	for what, tt := range map[string]struct {
		change func(*Event)
		want   bool
	}{
		"its time":           {func(e *Event) { e.At = 9 }, true},
		"its type":           {func(e *Event) { e.Type = "Killed" }, false},
		"its message":        {func(e *Event) { e.Message = "n" }, false},
		"its delay":          {func(e *Event) { e.Delay = time.Minute }, false},
		"a detail":           {func(e *Event) { e.Details = map[string]string{"k": "w"} }, false},
		"no known detail":    {func(e *Event) { e.Details = nil }, true},
		"that it has no one": {func(e *Event) { e.Details = map[string]string{} }, false},
	} {
		e := base()
		if tt.change(&e); e.equal(base()) != tt.want || base().equal(e) != tt.want {
			t.Errorf("an event that differs in %s: %v, %v", what, e.equal(base()), base().equal(e))
		}
	}
}
