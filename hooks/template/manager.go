package template

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	dep "github.com/hashicorp/consul-template/dependency"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/leaf/event"
	"taskrun/hooks"
)

// patience is how long a template may wait for a value without a stub before it
// fails its task. Meanwhile the user can add the stub.
const patience = 10 * time.Second

// missingTime is how long templates wait before the task's events name the
// missing values, and the minimum interval between such events.
const missingTime = 3 * time.Second

// execFunc runs a command in the task.
type execFunc = func(ctx context.Context, cmd []string) (*drivers.ExecTaskResult, error)

// manager renders the templates of a task: first all of them, then those that
// changed.
type manager struct {
	set     *set
	control hooks.Control
	emit    func(*api.TaskEvent)
	splay   func(limit time.Duration) time.Duration // less than the limit
	watched []*tracked
	seeded  bool // the run has a seed, see settle

	mu        sync.Mutex
	begun     bool     // the task has started
	exec      execFunc // nil before, or if its driver has no exec
	postponed []*spec  // templates whose script must run once the task has started
	cancel    context.CancelFunc
	watching  sync.WaitGroup
}

// tracked is a template with its results.
type tracked struct {
	*spec
	result           // of the last execution
	shown  []byte    // the last rendered text
	next   *result   // the next text to render; nil: no change
	since  time.Time // when next first differed
	due    time.Time // when next is rendered
}

func newManager(t hooks.Task, s *set) *manager {
	m := &manager{set: s, control: t.Control, emit: t.Emit, cancel: func() {}, seeded: t.Chance.Seeded()}
	m.splay = func(n time.Duration) time.Duration { return t.Chance.Duration(n, "splay", t.Alloc.ID, t.Task.Name) }
	for _, t := range s.templates {
		m.watched = append(m.watched, &tracked{spec: t})
	}
	return m
}

// end stops following the templates.
func (m *manager) end() {
	m.cancel()
	m.watching.Wait()
}

// fail ends the task.
func (m *manager) fail(format string, args ...any) {
	m.control.Fail(event.KillingFailed(fmt.Sprintf(format, args...)))
}

// renderAll renders each template once its dependencies are known. It returns
// false if it has given up.
func (m *manager) renderAll(ctx context.Context) bool {
	left := slices.Clone(m.watched)
	begin := time.Now()
	var told string
	quiet := time.NewTimer(missingTime)
	defer quiet.Stop()
	for {
		used := m.dependencies(left) // before looking, so that no change is missed
		changed, services, poll := m.set.follow(used)
		missing := map[string]dep.Dependency{}
		var err error
		if left, err = m.renderSome(ctx, left, missing); err != nil {
			if ctx.Err() == nil {
				m.fail("Template failed: %v", err)
			}
			return false
		}
		if len(left) == 0 {
			return true
		}
		if len(used) == 0 {
			continue // now the new dependencies can be followed
		}
		if now := names(missing); time.Since(begin) >= patience {
			m.fail("Template failed: %s", m.hint(left[0], now, missing))
			return false
		} else if text := strings.Join(now, ","); time.Since(begin) >= missingTime && text != told {
			m.emit(event.TemplateMissing(now))
			told = text
			quiet.Reset(time.Until(begin.Add(patience)))
		}
		look := time.NewTimer(never(poll))
		select {
		case <-ctx.Done():
			look.Stop()
			return false
		case <-changed:
		case <-services:
		case <-look.C:
		case <-quiet.C:
		}
		look.Stop()
	}
}

// settle waits, in a run with a seed, until everything that happens at this moment
// has happened. The scheduler decides whether a task registers a service before or
// after another task queries it, and that must make no difference.
func (m *manager) settle(ctx context.Context) {
	if m.seeded {
		wait(ctx, time.Microsecond)
	}
}

// never returns the poll interval, or a pause so long that it never ends.
func never(poll time.Duration) time.Duration {
	if poll == 0 {
		return 1 << 62
	}
	return poll
}

// dependencies returns the dependencies of templates by name.
func (m *manager) dependencies(list []*tracked) map[string]dep.Dependency {
	all := map[string]dep.Dependency{}
	for _, t := range list {
		for _, d := range t.used {
			all[d.String()] = d
		}
	}
	return all
}

// renderSome renders the templates whose dependencies are known. It returns the
// others, and records what they miss.
func (m *manager) renderSome(ctx context.Context, list []*tracked, missing map[string]dep.Dependency) (left []*tracked, err error) {
	for _, t := range list {
		out, err := m.set.execute(ctx, t.spec)
		if err == nil && m.seeded && slices.ContainsFunc(out.used, asksForServices) {
			m.settle(ctx)
			out, err = m.set.execute(ctx, t.spec)
		}
		if err != nil {
			return nil, err
		}
		t.result = out
		if len(out.missing) > 0 {
			for _, d := range out.missing {
				missing[d.String()] = d
			}
			left = append(left, t)
			continue
		}
		written, err := t.write(m.set.dir, out.text)
		if err != nil {
			return nil, fmt.Errorf("error rendering %s: %w", t.written, err)
		}
		t.shown = out.text
		if script := t.change.script; written && t.change.mode == modeScript && *script.RunOnFirstRender {
			m.postpone(t.spec)
		}
	}
	return left, nil
}

// hint names the missing values and the stubs that would define them. A name
// that contains the allocation's ID has no stub, because it differs in every
// run.
func (m *manager) hint(t *tracked, names []string, missing map[string]dep.Dependency) string {
	var blocks []string
	id, _ := m.set.env.Lookup("NOMAD_SHORT_ALLOC_ID")
	for _, name := range names {
		if need := NeedOf(missing[name]); id == "" || !strings.Contains(need.Label, id) {
			blocks = append(blocks, need.Block())
		}
	}
	text := fmt.Sprintf("%s: %s is not set: no stub defines it", t.written, strings.Join(names, ", "))
	if len(names) > 1 {
		text = fmt.Sprintf("%s: %s are not set: no stub defines them", t.written, strings.Join(names, ", "))
	}
	if len(blocks) == 0 {
		return text
	}
	file := cmp.Or(m.set.cfg.Stubs.Set().File, "taskrun.hcl beside the job file")
	return fmt.Sprintf("%s; add to %s: %s", text, file, strings.Join(blocks, ", "))
}

// setVariables gives the task the variables of its templates. It returns false
// if that failed, and so did the task.
func (m *manager) setVariables() bool {
	if !m.set.hasVariables() {
		return true
	}
	vars, err := m.set.variables()
	if err != nil {
		m.fail("Template failed to read environment variables: %v", err)
		return false
	}
	m.control.SetTemplateEnv(vars)
	return true
}

// wait waits for d. It returns false if ctx ends first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
