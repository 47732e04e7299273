package resident

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"taskrun/engine"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec"
	"taskrun/jobspec/visible"
)

// Level is the level of a message in the log of an agent.
type Level string

// The levels.
const (
	levelDebug Level = "debug"
	LevelInfo  Level = "info"
	levelWarn  Level = "warn"
	levelError Level = "error"
)

// LogLevels are all levels, the least important first.
var LogLevels = []Level{levelDebug, LevelInfo, levelWarn, levelError}

// agentLog writes the messages of an agent, one per line.
type agentLog struct {
	least int // index in logLevels

	mu sync.Mutex
	to io.Writer
}

func newAgentLog(to io.Writer, least Level) *agentLog {
	return &agentLog{to: to, least: slices.Index(LogLevels, least)}
}

func (l *agentLog) write(at time.Time, level Level, format string, args ...any) {
	if slices.Index(LogLevels, level) < l.least {
		return
	}
	text := strings.TrimSpace(visible.Text(fmt.Sprintf(format, args...)))
	line := fmt.Sprintf("%s [%s] %s\n", at.UTC().Format("2006-01-02T15:04:05.000Z"), strings.ToUpper(string(level)), strings.ReplaceAll(text, "\n", "\n\t"))
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = io.WriteString(l.to, line) // there is nowhere else to report it
}

func (l *agentLog) info(format string, args ...any) {
	l.write(time.Now(), LevelInfo, format, args...)
}

func (l *agentLog) warn(format string, args ...any) {
	l.write(time.Now(), levelWarn, format, args...)
}

// diagnostics writes diagnostics of stubs that were read again.
func (l *agentLog) diagnostics(list jobspec.Diagnostics) {
	for _, d := range list {
		l.warn("%s", d.Error())
	}
}

// follow writes what happens in an engine, until its end or the end of ctx. It
// calls seen with each event.
func (l *agentLog) follow(ctx context.Context, e *engine.Engine, seen func()) {
	sub := e.SubscribeTo(func(e event.Event) bool {
		switch e.Body.(type) {
		case event.Notice, event.Version, event.AllocStatus, event.TaskEvent:
			return true
		}
		return false
	})
	defer sub.Close()
	began := time.Now()
	for e, ok := sub.Next(ctx); ok; e, ok = sub.Next(ctx) {
		seen()
		if !e.Time.Before(began) { // otherwise an earlier agent has written it
			l.event(e)
		}
	}
}

func (l *agentLog) event(e event.Event) {
	switch body := e.Body.(type) {
	case event.Notice:
		l.write(e.Time, LevelInfo, "%s", body.Text)
	case event.Version:
		l.write(e.Time, levelDebug, "job %s: version %d", body.Job, body.Number)
	case event.AllocStatus:
		text := strings.TrimSuffix(fmt.Sprintf("%s: %s: %s", allocOf(e), body.Status, body.Description), ": ")
		l.write(e.Time, LevelInfo, "%s", text)
	case event.TaskEvent:
		level := levelDebug
		if event.Fails(body.TaskEvent) {
			level = levelWarn
		}
		l.write(e.Time, level, "%s/%s: %s: %s", allocOf(e), e.Task, body.Type, body.DisplayMessage)
	}
}

func allocOf(e event.Event) string {
	if e.Alloc == nil {
		return "agent"
	}
	return fmt.Sprintf("%s (%.8s)", e.Alloc.Name, e.Alloc.ID)
}
