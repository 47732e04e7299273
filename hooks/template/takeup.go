package template

import (
	"bytes"
	"context"
	"path/filepath"
	"time"
)

// takeUp goes on with the templates of a task that runs since before this
// engine: what it has read stays as it is, and what has changed meanwhile is a
// change like any other, which its change_mode is for. What is missing by now
// is waited for while the task runs. It reports false, and has done nothing,
// when not all of them were rendered.
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
