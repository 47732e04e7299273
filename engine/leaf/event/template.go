package event

import (
	"fmt"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// shownMissing limits the missing names in an event.
const shownMissing = 3

// TemplateMissing reports the sorted names of values that the templates of a
// task wait for.
func TemplateMissing(names []string) *api.TaskEvent {
	text := "Missing: " + strings.Join(names[:min(len(names), shownMissing)], ", ")
	if more := len(names) - shownMissing; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return newEvent("Template", text)
}

// TemplateRestart reports a restart because of a changed template.
func TemplateRestart() *api.TaskEvent {
	return newEvent(api.TaskRestartSignal, "Template with change_mode restart re-rendered")
}

// TemplateSignal reports that a signal, in Go's notation ("hangup"), is sent to
// the task because of a changed template.
func TemplateSignal(signal string) *api.TaskEvent {
	return withSignal(newEvent(api.TaskSignaling, "Template re-rendered"), signal)
}

// TemplateSignalSkipped reports that a signal found no process.
func TemplateSignalSkipped(signal string) *api.TaskEvent {
	return HookMessage(fmt.Sprintf("Template skipped signal %s: task is not running", signal))
}

// TemplateScript reports that the script of a changed template succeeded.
func TemplateScript(command string, args []string) *api.TaskEvent {
	return HookMessage(fmt.Sprintf("Template successfully ran script %s with arguments: %v. Exit code: 0", command, args))
}

// TemplateScriptFailed reports that the script of a changed template could not
// run or, if err is nil, ended with a code.
func TemplateScriptFailed(command string, args []string, code int, err error) *api.TaskEvent {
	text := fmt.Sprintf("Template ran script %s with arguments %v on change but it exited with code: %d", command, args, code)
	if err != nil {
		text = fmt.Sprintf("Template failed to run script %s with arguments %v on change: %v. Exit code: %d", command, args, err, code)
	}
	return newEvent(TaskHookFailed, text)
}

// KillingFailed reports that the task is stopped as failed, and why.
func KillingFailed(reason string) *api.TaskEvent {
	return newEvent(api.TaskKilling, reason, failsTask, "true")
}

func withSignal(e *api.TaskEvent, signal string) *api.TaskEvent {
	e.Details["task_signal"], e.TaskSignal = signal, signal
	return e
}

// IdentityRestart reports a restart because of a new token.
func IdentityRestart(identity string) *api.TaskEvent {
	return newEvent(api.TaskRestartSignal, fmt.Sprintf("Identity[%s]: new token acquired", identity))
}

// IdentitySignal reports that a signal is sent because of a new token.
func IdentitySignal(identity, signal string) *api.TaskEvent {
	return withSignal(newEvent(api.TaskSignaling, fmt.Sprintf("Identity[%s]: new Identity token acquired", identity)), signal)
}
