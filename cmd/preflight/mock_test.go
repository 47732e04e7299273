package preflight

import (
	"testing"

	"github.com/hashicorp/nomad/api"
)

// In the place of another driver, mock_driver runs what would run until it is
// stopped; the other tasks succeed at once.
func TestMockInPlaceOfADriver(t *testing.T) {
	t.Parallel()
	prestart, sidecar := &api.TaskLifecycle{Hook: "prestart"}, &api.TaskLifecycle{Hook: "prestart", Sidecar: true}
	forever := untilStopped.String()
	for _, tt := range []struct {
		name, job string
		lifecycle *api.TaskLifecycle
		config    map[string]any
		want      any // run_for
	}{
		{"service", "service", nil, nil, forever},
		{"system", "system", nil, map[string]any{}, forever},
		{"batch", "batch", nil, nil, nil},
		{"sysbatch", "sysbatch", nil, nil, nil},
		{"prestart of a service", "service", prestart, nil, nil},
		{"sidecar of a batch job", "batch", sidecar, nil, forever},
		{"a time of its own", "service", nil, map[string]any{"run_for": "1s"}, "1s"},
	} {
		task := &api.Task{Lifecycle: tt.lifecycle, Config: tt.config}
		mockTask(&api.Job{Type: &tt.job}, task)
		if got := task.Config["run_for"]; got != tt.want {
			t.Errorf("%s: run_for %v, want %v", tt.name, got, tt.want)
		}
	}
}
