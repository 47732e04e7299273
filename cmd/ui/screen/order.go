package screen

import (
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// Target is a task of the run. Without a task it is the whole allocation.
type Target struct {
	Alloc string // ID
	Task  string
}

// Verb is the kind of an order.
type Verb int

// The verbs of orders.
const (
	Restart     Verb = iota
	Stop             // the tasks; Job without tasks: the whole job
	Start            // the tasks, which were stopped
	Signal           // Text is the signal
	Scale            // Group of Job to Count
	Action           // Text is the name of the action
	Shell            // in the task
	Open             // the address of the task in a browser
	Copy             // Text to the clipboard
	AskActions       // of the task; the answer is given to Model.ChooseAction
	Promote          // Text is the ID of the deployment of Job
	FailRollout      // Text is the ID of the deployment of Job
	Suspend          // this process, as Ctrl-Z does
	Redraw           // the whole screen
	ToggleMouse      // so that the terminal can select text
	Leave            // the screen; Text is one of the choices of Options.Leave
)

// Order is something to be done that the Model cannot do itself.
type Order struct {
	Verb    Verb
	Targets []Target
	Label   string // of the targets, for messages
	Job     string // key
	Group   string
	Count   int
	Text    string
}

func targetOf(a *event.Alloc, task string) Target { return Target{a.ID, task} }

func targetsOf(tasks []*fold.Task) (targets []Target) {
	for _, t := range tasks {
		targets = append(targets, targetOf(t.Alloc.Alloc, t.Name))
	}
	return targets
}
