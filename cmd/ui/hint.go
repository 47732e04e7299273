package ui

import (
	"slices"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/fold"
)

// hint says what to do about a task that failed, or "" when its output must
// tell.
func hint(t *fold.Task) string {
	for i, e := range slices.Backward(t.Events) {
		switch e.Type {
		case api.TaskDriverFailure:
			if i > 0 && t.Events[i-1].Type == api.TaskDriverMessage && t.Events[i-1].Details["image"] != "" {
				return "check the name of its image, and whether this machine can reach the registry and has the credentials (docker login)"
			}
			return "check \"command\", \"args\" and \"work_dir\" in its config block: a relative command is looked up in PATH, not in the task's directory"
		case api.TaskFailedValidation:
			return "correct its config block; the options are those of its driver"
		case api.TaskArtifactDownloadFailed:
			return "check the source of its artifact block and whether this machine can reach it"
		case api.TaskTerminated:
			return exitHint(e.TaskEvent)
		}
	}
	return ""
}

// exitHint explains the exit codes that shells and kernels give.
func exitHint(e *api.TaskEvent) string {
	switch {
	case e.Details["oom_killed"] == "true":
		return "it needed more than its memory limit: raise \"memory\" in its resources block"
	case e.Details["exit_code"] == "126":
		return "126 usually means: a command was found but may not be executed (chmod +x?)"
	case e.Details["exit_code"] == "127":
		return "127 usually means: a shell did not find a command; NOMAD_TASK_DIR and PATH decide where it looks"
	case e.Details["signal"] == "9", e.Details["exit_code"] == "137":
		return "signal 9 comes from kill -9 or from a machine without memory left (see dmesg)"
	case e.Details["signal"] == "11", e.Details["exit_code"] == "139":
		return "signal 11 is a crash of the program itself"
	}
	return ""
}
