package event

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/hashicorp/nomad/api"
)

// Types of task events that package api lacks.
const (
	TaskMainDead              = "Main Tasks Dead"
	TaskFailedRestoring       = "Failed Restoring Task"
	TaskHookFailed            = "Task hook failed"
	TaskHookMessage           = "Task hook message"
	TaskWaitingShutdownDelay  = "Waiting for shutdown delay"
	TaskSkippingShutdownDelay = "Skipping shutdown delay"
	TaskPausing               = "Pausing"
	TaskResuming              = "Running" // again, after TaskPausing
)

// failsTask is the detail that marks an event that fails its task.
const failsTask = "fails_task"

// NoCommand is the detail of a driver failure because a command, or its working
// directory, does not exist.
const NoCommand = "no_command"

// Fails reports whether the event fails its task.
func Fails(e *api.TaskEvent) bool { return e.Details[failsTask] == "true" }

func newEvent(kind, message string, details ...string) *api.TaskEvent {
	e := &api.TaskEvent{Type: kind, Time: time.Now().UnixNano(), DisplayMessage: message, Details: map[string]string{}}
	for i := 0; i < len(details); i += 2 {
		e.Details[details[i]] = details[i+1]
		setField(e, details[i], details[i+1])
	}
	return e
}

// setField sets the field that is older than a detail; Nomad still sets it, too.
func setField(e *api.TaskEvent, detail, value string) {
	switch detail {
	case "message":
		e.Message = value
	case failsTask:
		e.FailsTask = true
	case "driver_error":
		e.DriverError = value
	case "validation_error":
		e.ValidationError = value
	case "download_error":
		e.DownloadError = value
	case "restart_reason":
		e.RestartReason = value
	case "start_delay":
		e.StartDelay, _ = strconv.ParseInt(value, 10, 64)
	case "failed_sibling":
		e.FailedSibling = value
	case "kill_reason":
		e.KillReason = value
	case "kill_error":
		e.KillError = value
	case "kill_timeout":
		e.KillTimeout, _ = time.ParseDuration(value)
	case "exit_code":
		e.ExitCode, _ = strconv.Atoi(value)
	case "signal":
		e.Signal, _ = strconv.Atoi(value) // 0 if it is the name of a signal to send
	}
}

// Received returns the first event of a task.
func Received() *api.TaskEvent {
	return newEvent(api.TaskReceived, "Task received by client")
}

// Setup reports a step before the start.
func Setup(message string) *api.TaskEvent {
	return newEvent(api.TaskSetup, message, "message", message)
}

// SetupFailure reports that the allocation could not be set up. Nomad gives this
// reason for every such failure.
func SetupFailure(err error) *api.TaskEvent {
	return newEvent(api.TaskSetupFailure, "failed to setup alloc: "+err.Error(), "kill_reason", TaskFailedRestoring, failsTask, "true")
}

// DownloadingArtifacts reports that a task's artifacts are being downloaded.
func DownloadingArtifacts() *api.TaskEvent {
	return newEvent(api.TaskDownloadingArtifacts, "Client is downloading artifacts")
}

// ArtifactDownloadFailed reports why artifacts could not be downloaded.
func ArtifactDownloadFailed(err error) *api.TaskEvent {
	return newEvent(api.TaskArtifactDownloadFailed, err.Error(), "download_error", err.Error())
}

// FailedValidation reports that the task's config does not fit its driver.
func FailedValidation(faults string) *api.TaskEvent {
	return newEvent(api.TaskFailedValidation, faults, "validation_error", faults)
}

// DriverFailure reports that the driver could not start the task.
func DriverFailure(err error) *api.TaskEvent {
	return newEvent(api.TaskDriverFailure, err.Error(), "driver_error", err.Error())
}

// Started reports that the task is running.
func Started() *api.TaskEvent { return newEvent(api.TaskStarted, "Task started by client") }

// Terminated reports that the task ended or was stopped.
func Terminated(code, signal int, oom bool, err error) *api.TaskEvent {
	message := fmt.Sprintf("Exit Code: %d", code)
	if signal != 0 {
		message += fmt.Sprintf(", Signal: %d", signal)
	}
	e := newEvent(api.TaskTerminated, message, "exit_code", strconv.Itoa(code),
		"signal", strconv.Itoa(signal), "oom_killed", strconv.FormatBool(oom))
	if err != nil {
		e.DisplayMessage += fmt.Sprintf(", Exit Message: %q", err)
		e.Details["exit_message"], e.Message = err.Error(), err.Error()
	}
	return e
}

// Restarting reports that the task will be restarted after a delay. Like Nomad,
// it does not show the reason of a restart within the policy.
func Restarting(delay time.Duration, reason string, withinPolicy bool) *api.TaskEvent {
	message := fmt.Sprintf("Task restarting in %v", delay)
	if reason != "" && !withinPolicy {
		message = reason + " - " + message
	}
	return newEvent(api.TaskRestarting, message,
		"start_delay", strconv.FormatInt(int64(delay), 10), "restart_reason", reason)
}

// NotRestarting reports that the task has failed for good.
func NotRestarting(reason string) *api.TaskEvent {
	return newEvent(api.TaskNotRestarting, reason, "restart_reason", reason, failsTask, "true")
}

// RestartSignaled reports that a user ordered a restart.
func RestartSignaled(reason string) *api.TaskEvent {
	return newEvent(api.TaskRestartSignal, reason, "restart_reason", reason)
}

// Pausing reports that a user stopped the task, which stays so until a user starts
// it. The message is in the words of a restart.
func Pausing() *api.TaskEvent { return newEvent(TaskPausing, "User requested task to stop") }

// Resuming reports that a user started the task that a user had stopped.
func Resuming() *api.TaskEvent { return newEvent(TaskResuming, "User requested task to start") }

// Halted reports whether a pending task with these events has been stopped by a
// user, and has ended.
func Halted(events []*api.TaskEvent) (halted bool) {
	ended := false
	for _, e := range slices.Backward(events) {
		switch e.Type {
		case TaskPausing:
			return true
		case api.TaskTerminated:
			ended = true
		case TaskWaitingShutdownDelay, TaskSkippingShutdownDelay:
			if !ended {
				return false
			}
		case api.TaskStarted, TaskResuming:
			return false
		}
	}
	return false
}

// Signaling reports that a signal is sent to the task.
func Signaling(signal string) *api.TaskEvent {
	return newEvent(api.TaskSignaling, "Task being sent a signal", "signal", signal)
}

// Killing reports that the task is being stopped, with the time for grace.
func Killing(timeout time.Duration) *api.TaskEvent {
	return newEvent(api.TaskKilling,
		fmt.Sprintf("Sent interrupt. Waiting %v before force killing", timeout),
		"kill_timeout", timeout.String())
}

// KillingBecause reports that the task is being stopped, and why. As in Nomad the
// message alone has the reason.
func KillingBecause(reason string, timeout time.Duration) *api.TaskEvent {
	return newEvent(api.TaskKilling, reason, "kill_timeout", timeout.String())
}

// Killed reports that the task was stopped; err is an error while stopping it.
func Killed(err error) *api.TaskEvent {
	if err != nil {
		return newEvent(api.TaskKilled, err.Error(), "kill_error", err.Error())
	}
	return newEvent(api.TaskKilled, "Task successfully killed")
}

// FailedRestoring reports that the task was lost while no engine was running.
// Nomad would wait for its servers then; here it restarts at once.
func FailedRestoring(err error) *api.TaskEvent {
	return newEvent(TaskFailedRestoring, "failed to restore task; it starts again: "+err.Error())
}

// SiblingFailed reports that another task of the group has failed.
func SiblingFailed(sibling string) *api.TaskEvent {
	return newEvent(api.TaskSiblingFailed, fmt.Sprintf("Task's sibling %q failed", sibling), "failed_sibling", sibling)
}

// LeaderDead reports that the group's leader has ended.
func LeaderDead() *api.TaskEvent { return newEvent(api.TaskLeaderDead, "Leader Task in Group dead") }

// MainTasksDead reports, to a sidecar, that the main tasks have ended.
func MainTasksDead() *api.TaskEvent {
	return newEvent(TaskMainDead, "Main tasks in the group died")
}

// WaitingShutdownDelay reports that the task will be stopped after
// shutdown_delay.
func WaitingShutdownDelay(d time.Duration) *api.TaskEvent {
	return newEvent(TaskWaitingShutdownDelay, fmt.Sprintf("Waiting for shutdown_delay of %v before killing the task.", d))
}

// SkippingShutdownDelay reports that the task is stopped without waiting for
// shutdown_delay.
func SkippingShutdownDelay(d time.Duration) *api.TaskEvent {
	return newEvent(TaskSkippingShutdownDelay, fmt.Sprintf("Skipping shutdown_delay of %v before killing the task.", d))
}

// AllocUnhealthy reports how a task made its allocation unhealthy.
func AllocUnhealthy(message string) *api.TaskEvent {
	return newEvent("Alloc Unhealthy", message, "message", message)
}

// HookFailed reports that a hook around the task failed.
func HookFailed(hook string, err error) *api.TaskEvent {
	message := fmt.Sprintf("%s: %v", hook, err)
	return newEvent(TaskHookFailed, message, "message", message)
}

// HookMessage reports a message of a hook.
func HookMessage(message string) *api.TaskEvent { return newEvent(TaskHookMessage, message) }

// OverMemoryLimit reports that the task has used more memory than its limit,
// which is not enforced; both are in bytes.
func OverMemoryLimit(peak, limit int64) *api.TaskEvent {
	const mib = 1 << 20
	return Driver(
		fmt.Sprintf("Memory peaked at %d MiB: would have been OOM-killed at %d MiB", (peak+mib-1)/mib, limit/mib),
		map[string]string{"memory_peak": strconv.FormatInt(peak, 10), "memory_limit": strconv.FormatInt(limit, 10)},
	)
}

// Driver reports a message of the driver, with its annotations.
func Driver(message string, annotations map[string]string) *api.TaskEvent {
	e := newEvent(api.TaskDriverMessage, message)
	e.DriverMessage = message
	maps.Copy(e.Details, annotations)
	return e
}
