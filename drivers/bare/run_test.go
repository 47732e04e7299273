package bare

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/drivers/rawexec"
)

// The arguments of a task follow those of its driver. A directory that exists in
// that of the task, its root in Nomad, is meant; any other path stays.
func TestRun(t *testing.T) {
	t.Parallel()
	taskDir := t.TempDir()
	if err := os.Mkdir(filepath.Join(taskDir, "local"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(taskDir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]*string{
		"":         nil,
		"/local":   new(filepath.Join(taskDir, "local")),
		"/file":    new("/file"),
		"/nowhere": new("/nowhere"),
		"local":    new("local"),
	} {
		o := Options{Args: []string{"b", "c"}, WorkDir: dir}
		got := o.run([]string{"sh", "a"}, taskDir)
		if diff := cmp.Diff(&rawexec.TaskConfig{Command: "sh", Args: []string{"a", "b", "c"}, WorkDir: want}, got); diff != "" {
			t.Errorf("work_dir %q (-want +got):\n%s", dir, diff)
		}
	}
}
