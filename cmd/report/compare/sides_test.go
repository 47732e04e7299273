package compare

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

// A Nomad agent's messages about its own internal calls are not compared.
func TestEventsOfAnySide(t *testing.T) {
	t.Parallel()
	details := map[string]string{"k": "v"}
	events := []Event{
		{Type: api.TaskDriverFailure, Message: launching + "rpc error: x", Details: details},
		{Type: api.TaskDriverFailure, Message: "no image", Details: details},
		{Type: api.TaskStarted, Message: launching + "x", Details: details},
	}
	got := ofAnySide(events)
	want := []Event{{Type: api.TaskDriverFailure, Message: launching + "…"}, events[1], events[2]}
	if diff := cmp.Diff(want, got); diff != "" || events[0].Details == nil {
		t.Errorf("%s, given %+v", diff, events[0])
	}
}
