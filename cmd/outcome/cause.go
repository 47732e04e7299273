package outcome

import (
	"fmt"

	"taskrun/cmd/prose"
	"taskrun/engine/fold"
)

// Why explains in a few words why a task failed.
func Why(c fold.Cause) string {
	text := prose.OneLine(c.Message)
	switch {
	case c.Reason == fold.Untold:
		return "for an unknown reason"
	case c.Reason == fold.NotStarted, c.Reason == fold.NoCommand, c.Reason == fold.NoImage:
		return "its driver could not start it: " + text
	case c.Reason != fold.Exited:
		return text
	case c.Signal != 0:
		return fmt.Sprintf("killed by signal %d", c.Signal)
	case text != "":
		return fmt.Sprintf("exit code %d: %s", c.Code, text)
	}
	return fmt.Sprintf("exit code %d", c.Code)
}

// Hint returns the remedy for a failed task, or "" if only its output can
// explain the failure.
func Hint(c fold.Cause) string {
	switch c.Reason {
	case fold.NoCommand:
		return "check \"command\", \"args\" and \"work_dir\" in its config block: a relative command is looked up in PATH, not in the task's directory"
	case fold.NoImage:
		return "check the name of its image, and whether this machine can reach the registry and has the credentials (docker login)"
	case fold.NotValid:
		return "correct its config block; the options are those of its driver"
	case fold.NotDownloaded:
		return "check the source of its artifact block and whether this machine can reach it"
	case fold.Exited:
		return exitHint(c)
	case fold.Untold, fold.NotStarted, fold.OtherwiseFails:
	}
	return ""
}

// exitHint explains the exit codes of shells and kernels.
func exitHint(c fold.Cause) string {
	switch {
	case c.OutOfMemory:
		return "it needed more than its memory limit: raise \"memory\" in its resources block"
	case c.Code == 126:
		return "126 usually means: a command was found but may not be executed (chmod +x?)"
	case c.Code == 127:
		return "127 usually means: a shell did not find a command; NOMAD_TASK_DIR and PATH decide where it looks"
	case c.Signal == 9, c.Code == 137:
		return "signal 9 comes from kill -9 or from a machine without memory left (see dmesg)"
	case c.Signal == 11, c.Code == 139:
		return "signal 11 is a crash of the program itself"
	}
	return ""
}
