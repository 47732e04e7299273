package template

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"time"
)

// begin renders all templates, then follows those that may change. It returns
// early when ctx ends, and when it has failed the task.
func (m *manager) begin(ctx context.Context) {
	if m.renderAll(ctx) {
		m.follow(ctx)
	}
}

// follow gives the task its variables, then follows the templates that may
// change.
func (m *manager) follow(ctx context.Context) {
	if !m.setVariables() {
		return
	}
	m.watched = slices.DeleteFunc(m.watched, func(t *tracked) bool { return t.once || len(t.used) == 0 })
	if len(m.watched) == 0 {
		return // nothing can change
	}
	ctx, m.cancel = context.WithCancel(context.WithoutCancel(ctx))
	m.watching.Go(func() { m.watch(ctx) })
}

// watch renders templates again when their input has changed, and notifies the
// task.
func (m *manager) watch(ctx context.Context) {
	for {
		changed, services, poll := m.set.follow(m.dependencies(m.watched))
		if services != nil {
			m.settle(ctx)
		}
		if !m.look(ctx, time.Now()) {
			return
		}
		for news := false; !news; {
			var ended bool
			if news, ended = m.pause(ctx, changed, services, poll); ended || !m.renderDue(ctx) {
				return
			}
		}
	}
}

// pause waits until answers may have changed (news), or a template is due.
func (m *manager) pause(ctx context.Context, changed, services <-chan struct{}, poll time.Duration) (news, ended bool) {
	due := time.NewTimer(m.untilDue())
	defer due.Stop()
	look := time.NewTicker(never(poll))
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, true
		case <-changed:
			return true, false
		case <-services:
			return true, false
		case <-due.C:
			return false, false
		case <-look.C:
			if m.filesChanged() {
				return true, false
			}
		}
	}
}

// look executes the templates whose answers have changed, and records new
// results. They are rendered once there were no changes for a while: at least
// waitMin after the last change, at most waitMax after the first.
func (m *manager) look(ctx context.Context, now time.Time) bool {
	for _, t := range m.watched {
		differs, err := m.set.differs(&t.result)
		if err == nil && differs {
			err = m.lookAt(ctx, t, now)
		}
		if ctx.Err() != nil {
			return false
		}
		if err != nil {
			m.fail("Template failed: %v", err)
			return false
		}
	}
	return true
}

func (m *manager) lookAt(ctx context.Context, t *tracked, now time.Time) error {
	out, err := m.set.execute(ctx, t.spec)
	if err != nil {
		return err
	}
	t.result = out
	switch {
	case len(out.missing) > 0: // keep the old value until there is one again
	case bytes.Equal(out.text, t.shown):
		t.next = nil
	default:
		if t.next == nil {
			t.since = now
		}
		t.next = &out
		t.due = now.Add(t.waitMin)
		if last := t.since.Add(t.waitMax); t.due.After(last) {
			t.due = last
		}
	}
	return nil
}

// untilDue returns the time until the next template is due.
func (m *manager) untilDue() time.Duration {
	pause := never(0)
	for _, t := range m.watched {
		if t.next != nil {
			pause = min(pause, max(time.Until(t.due), 0))
		}
	}
	return pause
}

func (m *manager) filesChanged() bool {
	for _, t := range m.watched {
		for path, stamp := range t.files {
			if m.set.stampOf(path) != stamp {
				return true
			}
		}
	}
	return false
}

// renderDue renders the templates that are due and notifies the task. It
// returns false if that failed, and so did the task.
func (m *manager) renderDue(ctx context.Context) bool {
	var changed []*spec
	now := time.Now()
	for _, t := range m.watched {
		if t.next == nil || t.due.After(now) {
			continue
		}
		written, err := t.write(m.set.dir, t.next.text)
		if err != nil {
			m.fail("Template failed: error rendering %s: %v", t.written, err)
			return false
		}
		t.shown, t.next = t.next.text, nil
		if written {
			changed = append(changed, t.spec)
		}
	}
	return len(changed) == 0 || m.act(ctx, changed)
}

// takeUp continues with the templates of a task that an earlier engine has
// started. Rendered files stay as they are; a change since then triggers
// change_mode as usual. The task keeps running while a dependency is missing.
// If not all templates were rendered, takeUp returns false without doing
// anything.
func (m *manager) takeUp(ctx context.Context) bool {
	rendered := make([][]byte, len(m.watched))
	for i, t := range m.watched {
		var err error
		if rendered[i], err = readPlaced(m.set.dir, filepath.Join(m.set.dir, t.dest)); err != nil {
			return false
		}
	}
	now := time.Now()
	for i, t := range m.watched {
		t.shown = rendered[i]
		if t.once {
			continue
		}
		out, err := m.set.execute(ctx, t.spec)
		if ctx.Err() != nil {
			return true
		}
		if err != nil {
			m.fail("Template failed: %v", err)
			return true
		}
		t.result = out
		if len(out.missing) == 0 && !bytes.Equal(out.text, t.shown) {
			t.next, t.since, t.due = &out, now, now.Add(t.waitMin)
		}
	}
	return true
}
