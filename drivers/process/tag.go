package process

import "strings"

// The variables that tell one task's processes from all others.
const (
	allocVar = "NOMAD_ALLOC_ID"
	taskVar  = "NOMAD_TASK_NAME"
)

// SessionVar is the variable that distinguishes the processes of a command run in
// a task from those of the task itself. Each command has a value of its own.
const SessionVar = "TASKRUN_EXEC_ID"

// tagOf joins these variables of an environment, "" unless the first two are
// set.
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

// cutVar returns the value of an entry of an environment that is the variable.
func cutVar(entry, name string) (value string, ok bool) {
	have, value, _ := strings.Cut(entry, "=")
	return value, have == name
}
