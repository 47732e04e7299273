package template

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/event"
	"taskrun/hooks"
)

var errNoExec = errors.New("the driver cannot run commands in a task")

// act carries out the change_mode of the templates that changed. It returns
// false if that failed, and so did the task. Further changes wait until it
// returns.
func (m *manager) act(ctx context.Context, changed []*spec) bool {
	if !m.setVariables() {
		return false
	}
	var splay time.Duration
	var acting []*spec
	restart := false
	for _, t := range changed {
		if t.change.mode == modeNoop {
			continue
		}
		acting = append(acting, t)
		splay = max(splay, t.change.splay)
		restart = restart || t.change.mode == modeRestart
	}
	if len(acting) == 0 {
		return true
	}
	if splay > 0 && !wait(ctx, m.splay(splay)) {
		return false
	}
	if restart {
		_ = m.control.Restart(ctx, event.TemplateRestart()) // a task that is not running will read the new file anyway
		return ctx.Err() == nil
	}
	return m.signal(acting) && m.scripts(ctx, acting)
}

// signal sends each signal of the templates once. It returns false if that
// failed the task.
func (m *manager) signal(acting []*spec) bool {
	var sent, failed, reasons []string
	for _, t := range acting {
		if t.change.mode != modeSignal || slices.Contains(sent, t.change.signal) {
			continue
		}
		sent = append(sent, t.change.signal)
		text := t.change.sig.String()
		switch err := m.control.Signal(event.TemplateSignal(text), t.change.signal); {
		case errors.Is(err, hooks.ErrNotRunning):
			m.emit(event.TemplateSignalSkipped(text))
		case err != nil:
			failed, reasons = append(failed, text), append(reasons, err.Error())
		}
	}
	if len(failed) > 0 {
		m.fail("Template failed to send signals %v: %s", failed, strings.Join(reasons, "; "))
	}
	return len(failed) == 0
}

// scripts runs the scripts of templates concurrently, and waits for them. Before
// the task has started, it leaves them to started. It returns false if one of
// them failed the task.
func (m *manager) scripts(ctx context.Context, acting []*spec) bool {
	acting = slices.DeleteFunc(acting, func(t *spec) bool { return t.change.mode != modeScript })
	m.mu.Lock()
	exec := m.exec
	if !m.begun {
		for _, t := range acting {
			m.postpone(t)
		}
		acting = nil
	}
	m.mu.Unlock()
	var running sync.WaitGroup
	failed := make([]bool, len(acting))
	for i, t := range acting {
		running.Go(func() { failed[i] = !m.script(ctx, exec, t.change.script) })
	}
	running.Wait()
	return !slices.Contains(failed, true)
}

// postpone lets the script of a template run once, after the task has started.
func (m *manager) postpone(t *spec) {
	if !slices.Contains(m.postponed, t) {
		m.postponed = append(m.postponed, t)
	}
}

// script runs one script. It returns false if it failed the task.
func (m *manager) script(ctx context.Context, exec execFunc, s *api.ChangeScript) bool {
	code, err := runScript(ctx, exec, s)
	if err == nil && code == 0 {
		m.emit(event.TemplateScript(*s.Command, s.Args))
		return true
	}
	if ctx.Err() != nil {
		return true // the task is ending
	}
	m.emit(event.TemplateScriptFailed(*s.Command, s.Args, code, err))
	if *s.FailOnError {
		m.fail("Template script failed, task is being killed")
		return false
	}
	return true
}

// killedScript is the exit code that Nomad reports for a script that was
// killed, for example after a timeout.
const killedScript = -1

func runScript(ctx context.Context, exec execFunc, s *api.ChangeScript) (code int, err error) {
	if exec == nil {
		return 0, errNoExec
	}
	ctx, cancel := context.WithTimeout(ctx, *s.Timeout)
	defer cancel()
	out, err := exec(ctx, append([]string{*s.Command}, s.Args...))
	switch {
	case ctx.Err() != nil:
		return killedScript, nil
	case err != nil:
		return 0, err
	case out.Err != nil:
		return out.ExitCode, out.Err
	case out.ExitCode == 0 && out.Signal != 0:
		return killedScript, nil
	}
	return out.ExitCode, nil
}

// started runs the scripts of the first rendering, and of changes since then, once
// the task has started; exec runs commands in it.
func (m *manager) started(ctx context.Context, exec execFunc) {
	m.mu.Lock()
	m.begun, m.exec = true, exec
	postponed := m.postponed
	m.postponed = nil
	m.mu.Unlock()
	m.scripts(ctx, postponed)
}
