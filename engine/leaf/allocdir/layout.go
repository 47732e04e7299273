package allocdir

import "path/filepath"

// Shared are the directories that the tasks of an allocation share.
type Shared struct {
	Dir  string // <alloc>/alloc, NOMAD_ALLOC_DIR
	Data string
	Logs string
	Tmp  string
}

// SharedOf names the shared directories of an allocation.
func SharedOf(allocDir string) Shared {
	dir := filepath.Join(allocDir, "alloc")
	return Shared{
		Dir:  dir,
		Data: filepath.Join(dir, "data"),
		Logs: filepath.Join(dir, "logs"),
		Tmp:  filepath.Join(dir, "tmp"),
	}
}

// Task are the directories of one task.
type Task struct {
	Dir     string // <alloc>/<task>, where a process starts
	Local   string // NOMAD_TASK_DIR
	Tmp     string
	Secrets string // NOMAD_SECRETS_DIR
	Private string
}

// TaskOf names the directories of a task.
func TaskOf(allocDir, task string) Task {
	dir := filepath.Join(allocDir, task)
	return Task{
		Dir:     dir,
		Local:   filepath.Join(dir, "local"),
		Tmp:     filepath.Join(dir, "tmp"),
		Secrets: filepath.Join(dir, "secrets"),
		Private: filepath.Join(dir, "private"),
	}
}
