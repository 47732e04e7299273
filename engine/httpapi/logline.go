package httpapi

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
