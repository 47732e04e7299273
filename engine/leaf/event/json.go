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
		Status      string `json:"status"`
		Description string `json:"description"`
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
		o.Job, o.Group, o.Alloc, o.AllocID = e.Alloc.Job, e.Alloc.Group, e.Alloc.Name, e.Alloc.ID
	}
	of := func(kind string) object { o.Type = kind; return o }
	switch b := e.Body.(type) {
	case TaskEvent:
		return json.Marshal(taskEventObject{of("task_event"), b.Type, b.DisplayMessage, b.Details})
	case TaskState:
		return json.Marshal(taskStateObject{of("task_state"), b.State, b.Failed, b.Restarts})
	case AllocStatus:
		s := allocStatusObject{object: of("alloc_status"), Status: b.Status, Description: b.Description, Replaces: b.Replaces}
		if b.Retry >= 0 {
			ms := b.Retry.Milliseconds()
			s.RetryMS = &ms
		}
		return json.Marshal(s)
	case AllocHealth:
		return json.Marshal(allocHealthObject{of("alloc_health"), b.Healthy})
	case Deployment:
		o.Job = b.Job
		return json.Marshal(deploymentObject{of("deployment"), b.Status, b.Description})
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
