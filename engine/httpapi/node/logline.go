package node

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"taskrun/engine/leaf/event"
)

// levels are those of a log, from the least important one.
var levels = map[string]int{"trace": 0, "debug": 1, "info": 2, "warn": 3, "error": 4}

// said is what a line of the log says.
type said struct {
	level  string
	module string
	text   string
	pairs  []string // names and values
}

// words puts an event into words; of some there is nothing to say.
func words(e event.Event) (s said, ok bool) {
	s = said{level: "debug", module: "client.alloc_runner"}
	if e.Alloc != nil {
		s.pairs = []string{"alloc_id", e.Alloc.ID}
	}
	if e.Task != "" {
		s.module, s.pairs = "client.alloc_runner.task_runner", append(s.pairs, "task", e.Task)
	}
	switch body := e.Body.(type) {
	case event.TaskEvent:
		s.level, s.text = "info", "Task event"
		if event.Fails(body.TaskEvent) {
			s.level = "error"
		}
		s.pairs = append(s.pairs, "type", body.Type, "msg", body.DisplayMessage)
	case event.TaskState:
		s.text, s.pairs = "task state", append(s.pairs, "state", body.State)
	case event.AllocStatus:
		s.text, s.pairs = "allocation status", append(s.pairs, "status", body.Status, "description", body.Description)
	case event.AllocHealth:
		s.text = "allocation is unhealthy"
		if body.Healthy {
			s.text = "allocation is healthy"
		}
	case event.Deployment:
		s.module, s.text = "nomad.deployments_watcher", body.Description
		s.pairs = []string{"job", body.Job, "deployment_id", body.ID, "status", body.Status}
	case event.Service:
		s.text = "service deregistered"
		if body.Registered {
			s.text = "service registered"
		}
		s.pairs = append(s.pairs, "service", body.Name, "id", body.ID)
	case event.Check:
		s.text, s.pairs = "check", append(s.pairs, "service", body.Service, "check", body.Check, "status", body.Status)
	case event.Notice:
		s.level, s.module, s.text = "info", "taskrun", body.Text
	default: // output
		return s, false
	}
	return s, true
}

// logFormat is how a log is written.
type logFormat struct {
	least int // level
	json  bool
}

// line returns an event as a line of the log, nil if it is none.
func (f logFormat) line(e event.Event) []byte {
	s, ok := words(e)
	if !ok || levels[s.level] < f.least {
		return nil
	}
	return f.write(e.Time, s)
}

// lost tells how many lines a client has not got.
func (f logFormat) lost(n int) []byte {
	return f.write(time.Now(), said{
		level: "warn", module: "taskrun", text: "Monitor dropped logs during monitor request", pairs: []string{"count", strconv.Itoa(n)},
	})
}

// write writes a line as the agent of Nomad has it.
func (f logFormat) write(at time.Time, s said) []byte {
	const stamp = "2006-01-02T15:04:05.000Z0700"
	if f.json {
		values := map[string]string{
			"@level": s.level, "@message": s.text, "@module": s.module, "@timestamp": at.UTC().Format(time.RFC3339Nano),
		}
		for i := 0; i < len(s.pairs); i += 2 {
			values[s.pairs[i]] = s.pairs[i+1]
		}
		line, _ := json.Marshal(values) // texts can always be written
		return append(line, '\n')
	}
	line := fmt.Appendf(nil, "%s %-7s %s: %s", at.UTC().Format(stamp), "["+strings.ToUpper(s.level)+"]", s.module, s.text)
	for i := 0; i < len(s.pairs); i += 2 {
		line = fmt.Appendf(line, " %s=%s", s.pairs[i], quoted(s.pairs[i+1]))
	}
	return append(line, '\n')
}

// quoted is a value as one word.
func quoted(value string) string {
	odd := func(r rune) bool { return r == '"' || r == '=' || unicode.IsSpace(r) || !unicode.IsPrint(r) }
	if value == "" || strings.ContainsFunc(value, odd) {
		return strconv.Quote(value)
	}
	return value
}
