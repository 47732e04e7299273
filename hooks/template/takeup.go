package template

import (
	"bytes"
	"context"
	"path/filepath"
	"time"
)

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
