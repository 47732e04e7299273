package process

import "strings"

// Variables that identify the processes of a task.
const (
	allocVar = "NOMAD_ALLOC_ID"
	taskVar  = "NOMAD_TASK_NAME"
)

// SessionVar distinguishes the processes of a command run in a task from those
// of the task itself. Each command has its own value.
const SessionVar = "TASKRUN_EXEC_ID"

// tagOf joins the values of these variables in an environment. It returns ""
// unless the first two are set.
func tagOf(env []string) string {
	var alloc, task, session string
	for _, entry := range env {
		switch name, value, _ := strings.Cut(entry, "="); name {
		case allocVar:
			alloc = value
		case taskVar:
			task = value
		case SessionVar:
			session = "/" + value
		}
	}
	if alloc == "" || task == "" {
		return ""
	}
	return alloc + "/" + task + session
}
