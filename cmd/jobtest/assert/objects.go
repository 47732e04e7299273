package assert

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/zclconf/go-cty/cty"

	"taskrun/cmd/jobtest"
	"taskrun/cmd/jobtest/timeline"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
)

// since returns a time in seconds since the beginning; null for none.
func (s *story) since(at time.Time) cty.Value {
	if at.IsZero() {
		return cty.NullVal(cty.Number)
	}
	return jobtest.Seconds(at.Sub(s.Began))
}

// text returns a string, which a task may have written.
func text[T string | []byte](s T) cty.Value {
	return cty.StringVal(strings.ToValidUTF8(string(s), "\uFFFD"))
}

func texts(all []string) cty.Value {
	if len(all) == 0 {
		return cty.ListValEmpty(cty.String)
	}
	list := make([]cty.Value, len(all))
	for i, s := range all {
		list[i] = text(s)
	}
	return cty.ListVal(list)
}

func textMap(all map[string]string) cty.Value {
	if len(all) == 0 {
		return cty.MapValEmpty(cty.String)
	}
	values := make(map[string]cty.Value, len(all))
	for name, s := range all {
		values[strings.ToValidUTF8(name, "\uFFFD")] = text(s)
	}
	return cty.MapVal(values)
}

func (s *story) runObject(run *jobtest.Run) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"name": text(run.Name), "mode": text(string(run.Mode)), "seed": cty.NumberUIntVal(s.Seed),
		"status": text(s.Status), "exit_code": cty.NumberIntVal(int64(s.ExitCode)), "cause": text(s.Cause),
		"duration": jobtest.Seconds(s.Elapsed),
	})
}

// execs returns how commands ended; the exit code of one that was not run is null.
func (s *story) execs(run *jobtest.Run) cty.Value {
	all := map[string]cty.Value{}
	for _, e := range run.Execs {
		code, o := cty.NullVal(cty.Number), s.Execs[e.Target]
		if o == nil {
			o = &jobtest.ExecOutcome{}
		} else {
			code = cty.NumberIntVal(int64(o.ExitCode))
		}
		all[e.Target] = cty.ObjectVal(map[string]cty.Value{"exit_code": code, "stdout": text(o.Stdout), "stderr": text(o.Stderr)})
	}
	return cty.ObjectVal(all)
}

func (s *story) taskObject(t *fold.Task) cty.Value {
	code, signal, oom := cty.NullVal(cty.Number), cty.NullVal(cty.Number), cty.False
	if t.ExitCode != nil {
		code = cty.NumberIntVal(int64(*t.ExitCode))
	}
	var events []event.Event
	for _, e := range s.events[nameOf(t.Alloc)] {
		if e.Alloc.ID != t.Alloc.ID || e.Task != t.Name {
			continue
		}
		events = append(events, e)
		if b, ok := e.Body.(event.TaskEvent); ok && b.Type == api.TaskTerminated {
			oom = cty.BoolVal(b.Details["oom_killed"] == "true")
			if n, err := strconv.ParseInt(b.Details["signal"], 10, 32); err == nil {
				signal = cty.NumberIntVal(n)
			}
		}
	}
	o := s.outcome(t)
	return cty.ObjectVal(map[string]cty.Value{
		"name": text(t.Name), "alloc": text(nameOf(t.Alloc)), "number": cty.NumberIntVal(int64(s.numbers[t.Alloc])),
		"state": text(t.State), "failed": cty.BoolVal(t.Failed), "restarts": cty.NumberUIntVal(t.Restarts),
		"exit_code": code, "signal": signal, "oom_killed": oom,
		"start": s.since(t.Started), "end": s.since(t.Finished),
		"env": textMap(o.Env), "stdout": text(o.Stdout), "stderr": text(o.Stderr),
		"events": s.eventList(events, ""),
	})
}

func (s *story) allocObject(a *fold.Alloc) cty.Value {
	var start, end time.Time
	for _, e := range s.events[nameOf(a)] {
		if e.Alloc.ID != a.ID {
			continue
		}
		if start.IsZero() {
			start = e.Time
		}
		if b, ok := e.Body.(event.AllocStatus); ok && end.IsZero() &&
			(b.Status == api.AllocClientStatusComplete || b.Status == api.AllocClientStatusFailed) {
			end = e.Time
		}
	}
	healthy := cty.NullVal(cty.Bool)
	if a.Healthy != nil {
		healthy = cty.BoolVal(*a.Healthy)
	}
	tasks := cty.MapValEmpty(jobtest.TaskType)
	if len(a.Tasks) > 0 {
		values := map[string]cty.Value{}
		for _, t := range a.Tasks {
			values[t.Name] = s.taskObject(t)
		}
		tasks = cty.MapVal(values)
	}
	return cty.ObjectVal(map[string]cty.Value{
		"name": text(nameOf(a)), "number": cty.NumberIntVal(int64(s.numbers[a])),
		"status": text(a.Status), "description": text(a.Description), "healthy": healthy,
		"failed": cty.BoolVal(a.Status == api.AllocClientStatusFailed), "replaced": cty.BoolVal(a.Replacement != nil),
		"start": s.since(start), "end": s.since(end), "tasks": tasks,
	})
}

// eventList returns the events of one type, or all; changes of the state of a task are
// left out, as task events say the same.
func (s *story) eventList(events []event.Event, kind string) cty.Value {
	var all []cty.Value
	for _, e := range events {
		for _, line := range timeline.Of(s.Began, []event.Event{e}) {
			if kind == "" || line.Type == kind {
				all = append(all, s.eventObject(e, line))
			}
		}
	}
	if len(all) == 0 {
		return cty.ListValEmpty(jobtest.EventType)
	}
	return cty.ListVal(all)
}

func (s *story) eventObject(e event.Event, line timeline.Event) cty.Value {
	alloc, number := "", 0
	if e.Alloc != nil {
		if a := s.byID[e.Alloc.ID]; a != nil {
			alloc, number = nameOf(a), s.numbers[a]
		}
	}
	return cty.ObjectVal(map[string]cty.Value{
		"at": jobtest.Seconds(line.At), "type": text(line.Type), "message": text(line.Message), "details": textMap(details(e.Body)),
		"alloc": text(alloc), "number": cty.NumberIntVal(int64(number)), "task": text(e.Task),
	})
}

// details are the details of an event besides its message, by their names in the
// JSON of events.
func details(body event.Body) map[string]string {
	switch b := body.(type) {
	case event.TaskEvent:
		return maps.Clone(b.Details)
	case event.AllocStatus:
		return map[string]string{"status": b.Status, "description": b.Description, "replaces": strconv.FormatBool(b.Replaces != "")}
	case event.AllocHealth:
		return map[string]string{"healthy": strconv.FormatBool(b.Healthy)}
	case event.Deployment:
		return map[string]string{
			"job": b.Job, "status": b.Status, "description": b.Description,
			"version": strconv.FormatUint(b.Version, 10), "canarying": strconv.FormatBool(b.Canarying),
		}
	case event.Service:
		return map[string]string{"name": b.Name, "address": b.Address, "port": strconv.Itoa(b.Port), "registered": strconv.FormatBool(b.Registered)}
	case event.Check:
		return map[string]string{"service": b.Service, "check": b.Check, "status": b.Status, "output": b.Output, "target": b.Target}
	}
	return nil
}

func serviceObject(a *fold.Alloc, s event.Service) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"name": text(s.Name), "address": text(s.Address), "port": cty.NumberIntVal(int64(s.Port)), "tags": texts(s.Tags), "alloc": text(nameOf(a)),
	})
}

func checkObject(alloc string, c event.Check) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"service": text(c.Service), "name": text(c.Check), "status": text(c.Status), "output": text(c.Output), "target": text(c.Target), "alloc": text(alloc),
	})
}

func (s *story) deploymentObject(d *fold.Deployment) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{
		"job": text(d.Job), "status": text(d.Status), "description": text(d.Description),
		"version": cty.NumberUIntVal(d.Version), "canarying": cty.BoolVal(d.Canarying), "at": s.since(d.Changed),
	})
}
