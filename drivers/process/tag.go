package process

import "strings"

// The variables that tell one task's processes from all others.
const (
	allocVar = "NOMAD_ALLOC_ID"
	taskVar  = "NOMAD_TASK_NAME"
)

// tagOf joins the two variables of an environment, "" unless both are set.
func tagOf(env []string) string {
	var alloc, task string
	for _, entry := range env {
		switch name, value, _ := strings.Cut(entry, "="); name {
		case allocVar:
			alloc = value
		case taskVar:
			task = value
		}
	}
	if alloc == "" || task == "" {
		return ""
	}
	return alloc + "/" + task
}
