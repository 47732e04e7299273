package runner_test

import (
	"strings"
	"testing"

	"taskrun/engine/runner"
	"taskrun/engine/store"
)

// An allocation of which something stored cannot be read fails, and says what;
// it is never run as if nothing had been stored.
func TestUnreadableRecords(t *testing.T) {
	t.Parallel()
	object := map[string]any{}
	stored := func(s *setting) map[string]any {
		return map[string]any{"alloc": map[string]any{"status": "running"}, "task": object, "hooks": object, "start": object, "handle": object}
	}
	for kind, value := range map[string]any{
		"task": "text", "hooks": "text", "start": "text", "handle": "text",
		"start without a config": nil,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newSetting(t, mockTask(map[string]any{"run_for": "1s"}, 0), nil)
			records := stored(s)
			if records["start"] = map[string]any{"Config": map[string]any{"value": "x", "type": "string"}}; value != nil {
				records[kind] = value
			} else {
				records["start"] = map[string]any{"Config": 5}
			}
			var first store.Change
			for kind, value := range records {
				parts := []string{kind, s.config.Alloc.ID}
				if kind != "alloc" {
					parts = append(parts, "t")
				}
				first.Put(store.KeyOf(parts...), value)
			}
			rec, err := store.Create(&s.bus, t.TempDir(), first)
			if err != nil {
				t.Fatal(err)
			}
			defer rec.Close()
			s.config.Recorder = rec
			s.alloc = runner.Restore(s.config)
			result := s.alloc.Run(t.Context())
			const want = "Unable to add allocation due to error: "
			if result.Status != "failed" || !strings.HasPrefix(s.alloc.State().Description, want) {
				t.Errorf("%s: %s", result.Status, s.alloc.State().Description)
			}
			if strings.Contains(strings.Join(s.taskEvents(), "\n"), "Task started") {
				t.Error("the task was started")
			}
		})
	}
}
