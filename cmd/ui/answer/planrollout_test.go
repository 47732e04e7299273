package answer

import (
	"bytes"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/ui"
)

func TestPlanShowsTheRollout(t *testing.T) {
	t.Parallel()
	plan := &api.JobPlanResponse{Diff: &api.JobDiff{Type: "Edited", ID: "web"}, Annotations: &api.PlanAnnotations{}}
	var out bytes.Buffer
	err := WritePlan(To{&ui.Streams{Out: &out, Env: func(string) string { return "" }}, ui.Plain, ui.ColorNever, time.Time{}}, plan, []RolloutStep{
		{Group: "app", Canary: []int{0, 1}},
		{Group: "app", After: AfterPromotion, Promote: []int{0, 1}, Replace: []int{2, 3}},
		{Group: "app", After: AfterHealthy, Replace: []int{4, 5}},
		{Group: "app", After: AfterHealthy, Replace: []int{7}},
		{Group: "db", InPlace: []int{0}, Destroy: []int{1, 3}},
		{Group: "log", Canary: []int{0}},
		{Group: "log", After: AfterHealthy, Promote: []int{0}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `~ job web
  rollout, each step once the one before is healthy
    group app
      start canary app[0-1]
      with "taskrun promote web": promote app[0-1]
      replace app[2-5,7], 2 at a time
    group db
      change in place db[0]
      destroy db[1,3]
    group log
      start canary log[0]
      promote log[0]
`
	if got := out.String(); got != want {
		t.Errorf("%s", got)
	}
}
