package event

import (
	"encoding/json"
	"time"
)

// object is an event as --output json and the history of a run show it: the
// fields that every kind has, then its own.
type object struct {
	Type    string    `json:"type"`
	Time    time.Time `json:"time"`
	Job     string    `json:"job,omitempty"`
	Group   string    `json:"group,omitempty"`
	Alloc   string    `json:"alloc,omitempty"`
	AllocID string    `json:"alloc_id,omitempty"`
	Task    string    `json:"task,omitempty"`
	Parent  string    `json:"parent,omitempty"` // job in whose name the job runs
}

type (
	taskEventObject struct {
		object
		Event   string            `json:"event"`
		Message string            `json:"message"`
		Details map[string]string `json:"details"`
	}
	taskStateObject struct {
		object
		State    string `json:"state"`
		Failed   bool   `json:"failed"`
		Restarts uint64 `json:"restarts"`
	}
	allocStatusObject struct {
		object
		Evaluation  string `json:"evaluation,omitempty"`
		Status      string `json:"status"`
		Description string `json:"description"`
		Replaces    string `json:"replaces,omitempty"`
		RetryMS     *int64 `json:"retry_ms,omitempty"`
	}
	allocHealthObject struct {
		object
		Healthy bool `json:"healthy"`
	}
	deploymentObject struct {
		object
		ID          string `json:"id,omitempty"`
		Version     uint64 `json:"version,omitempty"`
		Status      string `json:"status"`
		Description string `json:"description"`
		Canarying   bool   `json:"canarying,omitempty"`
	}
	versionObject struct {
		object
		Version uint64 `json:"version"`
		Stable  bool   `json:"stable"`
		Tag     string `json:"tag,omitempty"`
	}
	evaluationObject struct {
		object
		ID         string  `json:"id"`
		Trigger    Trigger `json:"trigger"`
		Version    uint64  `json:"version"`
		Deployment string  `json:"deployment,omitempty"`
		About      string  `json:"about,omitempty"`
	}
	serviceObject struct {
		object
		ID         string   `json:"id"`
		Name       string   `json:"name"`
		Address    string   `json:"address"`
		Port       int      `json:"port,omitempty"`
		Tags       []string `json:"tags,omitempty"`
		Registered bool     `json:"registered"`
	}
	checkObject struct {
		object
		Service string `json:"service"`
		Check   string `json:"check"`
		Status  string `json:"status"`
		Output  string `json:"output"`
	}
	diagnosticObject struct {
		object
		Severity string `json:"severity"`
		Summary  string `json:"summary"`
	}
)

// MarshalJSON returns the event as one object. An Output has none: its bytes
// are not part of the event.
func (e Event) MarshalJSON() ([]byte, error) {
	o := object{Time: e.Time.UTC(), Task: e.Task}
	if e.Alloc != nil {
		o.Job, o.Group, o.Alloc, o.AllocID, o.Parent = e.Alloc.Job, e.Alloc.Group, e.Alloc.Name, e.Alloc.ID, e.Alloc.Parent
	}
	of := func(kind string) object { o.Type = kind; return o }
	switch b := e.Body.(type) {
	case TaskEvent:
		return json.Marshal(taskEventObject{of("task_event"), b.Type, b.DisplayMessage, b.Details})
	case TaskState:
		return json.Marshal(taskStateObject{of("task_state"), b.State, b.Failed, b.Restarts})
	case AllocStatus:
		s := allocStatusObject{of("alloc_status"), b.Evaluation, b.Status, b.Description, b.Replaces, nil}
		if b.Retry >= 0 {
			ms := b.Retry.Milliseconds()
			s.RetryMS = &ms
		}
		return json.Marshal(s)
	case AllocHealth:
		return json.Marshal(allocHealthObject{of("alloc_health"), b.Healthy})
	case Deployment:
		o.Job = b.Job
		return json.Marshal(deploymentObject{of("deployment"), b.ID, b.Version, b.Status, b.Description, b.Canarying})
	case Version:
		o.Job, o.Parent = b.Job, b.Parent
		return json.Marshal(versionObject{of("version"), b.Number, b.Stable, b.Tag})
	case Evaluation:
		o.Job, o.Parent = b.Job, b.Parent
		return json.Marshal(evaluationObject{of("evaluation"), b.ID, b.Trigger, b.Version, b.Deployment, b.Alloc})
	case Service:
		return json.Marshal(serviceObject{of("service"), b.ID, b.Name, b.Address, b.Port, b.Tags, b.Registered})
	case Check:
		return json.Marshal(checkObject{of("check"), b.Service, b.Check, b.Status, b.Output})
	case Notice:
		return json.Marshal(diagnosticObject{of("diagnostic"), "warning", b.Text})
	default:
		return nil, &json.UnsupportedTypeError{}
	}
}
