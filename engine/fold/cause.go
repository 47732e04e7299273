package fold

import (
	"slices"
	"strconv"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
)

// Weight says what a task event means to a user.
type Weight int

const (
	// Ordinary events belong to the life of every task.
	Ordinary Weight = iota
	// Setback is an event after which the task has to begin again or to end.
	Setback
	// Trouble is an event that says that something went wrong, whether or not
	// it fails the task.
	Trouble
)

var weights = map[string]Weight{
	api.TaskSetupFailure:           Trouble,
	api.TaskFailedValidation:       Trouble,
	api.TaskDriverFailure:          Trouble,
	api.TaskArtifactDownloadFailed: Trouble,
	event.TaskHookFailed:           Trouble,
	api.TaskRestarting:             Setback,
	api.TaskSiblingFailed:          Setback,
}

// Weigh returns the weight of an event that the task has just had. An exit code
// is no trouble where the task was told to end.
func (t *Task) Weigh(e *api.TaskEvent) Weight {
	unclean := e.Type == api.TaskTerminated && (e.Details["exit_code"] != "0" || e.Details["signal"] != "0")
	if event.Fails(e) || unclean && !t.Stopping() {
		return Trouble
	}
	return weights[e.Type]
}

// Reason is a kind of causes.
type Reason int

// The reasons for which a task fails.
const (
	Untold         Reason = iota // no event says why
	Exited                       // its process ended with a code or by a signal
	NotStarted                   // its driver could not start it
	NoCommand                    // there is no such command, or no directory to start it in
	NoImage                      // its driver could not get its image
	NotValid                     // its driver does not take its config block
	NotDownloaded                // an artifact could not be downloaded
	OtherwiseFails               // the message says why
)

var reasons = map[string]Reason{
	api.TaskDriverFailure:          NotStarted,
	api.TaskFailedValidation:       NotValid,
	api.TaskArtifactDownloadFailed: NotDownloaded,
}

// Cause is why a task failed.
type Cause struct {
	Reason      Reason
	Message     string // of the event that says so; of an exit, what the driver adds
	Code        int    // of an exit
	Signal      int    // that ended the process; 0: none
	OutOfMemory bool   // so that the kernel killed it
}

// Cause returns why the task failed, as the latest of its events tells.
func (t *Task) Cause() Cause {
	for i, e := range slices.Backward(t.Events) {
		switch reason := reasons[e.Type]; {
		case e.Type == api.TaskTerminated:
			c := Cause{Reason: Exited, Message: e.Details["exit_message"], OutOfMemory: e.Details["oom_killed"] == "true"}
			c.Code, _ = strconv.Atoi(e.Details["exit_code"])
			c.Signal, _ = strconv.Atoi(e.Details["signal"])
			return c
		case reason == NotStarted && i > 0 && t.Events[i-1].Type == api.TaskDriverMessage && t.Events[i-1].Details["image"] != "":
			return Cause{Reason: NoImage, Message: e.DisplayMessage}
		case reason == NotStarted && e.Details[event.NoCommand] != "":
			return Cause{Reason: NoCommand, Message: e.DisplayMessage}
		case reason != Untold:
			return Cause{Reason: reason, Message: e.DisplayMessage}
		case e.Type != api.TaskNotRestarting && (event.Fails(e.TaskEvent) || weights[e.Type] == Trouble):
			return Cause{Reason: OtherwiseFails, Message: e.DisplayMessage}
		}
	}
	return Cause{}
}
