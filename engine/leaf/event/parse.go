package event

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/hashicorp/nomad/api"
)

// Parse reads an event as MarshalJSON writes it, which leaves out its number.
func Parse(line []byte) (Event, error) {
	var head object
	if err := json.Unmarshal(line, &head); err != nil {
		return Event{}, err
	}
	e := Event{Time: head.Time, Task: head.Task}
	if head.AllocID != "" {
		e.Alloc = &Alloc{Job: head.Job, Group: head.Group, Name: head.Alloc, ID: head.AllocID, Parent: head.Parent}
	}
	var err error
	switch head.Type {
	case "task_event":
		e.Body, err = parse(line, func(o taskEventObject) Body {
			return TaskEvent{&api.TaskEvent{Type: o.Event, Time: o.Time.UnixNano(), DisplayMessage: o.Message, Details: o.Details}}
		})
	case "task_state":
		e.Body, err = parse(line, func(o taskStateObject) Body {
			return TaskState{State: o.State, Failed: o.Failed, Restarts: o.Restarts}
		})
	case "alloc_status":
		e.Body, err = parse(line, func(o allocStatusObject) Body {
			s := AllocStatus{Status: o.Status, Description: o.Description, Replaces: o.Replaces, Retry: -1, Evaluation: o.Evaluation}
			if o.RetryMS != nil {
				s.Retry = time.Duration(*o.RetryMS) * time.Millisecond
			}
			return s
		})
	case "alloc_health":
		e.Body, err = parse(line, func(o allocHealthObject) Body { return AllocHealth{o.Healthy} })
	case "deployment":
		e.Body, err = parse(line, func(o deploymentObject) Body {
			return Deployment{ID: o.ID, Job: o.Job, Version: o.Version, Status: o.Status, Description: o.Description, Canarying: o.Canarying}
		})
	case "version":
		e.Body, err = parse(line, func(o versionObject) Body { return Version{o.Job, o.Parent, o.Version, o.Stable, o.Tag} })
	case "evaluation":
		e.Body, err = parse(line, func(o evaluationObject) Body {
			return Evaluation{o.ID, o.Job, o.Parent, o.Trigger, o.Version, o.Deployment, o.About}
		})
	case "service":
		e.Body, err = parse(line, func(o serviceObject) Body {
			return Service{o.ID, o.Name, o.Address, o.Port, o.Tags, o.Registered}
		})
	case "check":
		e.Body, err = parse(line, func(o checkObject) Body { return Check{o.Service, o.Check, o.Status, o.Output} })
	case "diagnostic":
		e.Body, err = parse(line, func(o diagnosticObject) Body { return Notice{o.Summary} })
	default:
		err = fmt.Errorf("there are no events of type %q", head.Type)
	}
	return e, err
}

func parse[O any](line []byte, body func(O) Body) (Body, error) {
	var o O
	if err := json.Unmarshal(line, &o); err != nil {
		return nil, err
	}
	return body(o), nil
}
