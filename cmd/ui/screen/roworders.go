package screen

import (
	"fmt"
	"strconv"
	"strings"

	"taskrun/engine/fold"
)

// rowKey handles the keys that order something for a row of the tree of a run.
func (d *dialog) rowKey(run *fold.Run, r *row, k Key) {
	running := r.having(isRunning)
	switch k {
	case "r":
		d.each(running, Restart, "restart", "is running")
	case "s":
		if r.level == jobRow {
			d.confirm(fmt.Sprintf("stop job %s?", r.name), func() { d.order(Order{Verb: Stop, Job: r.job, Label: r.name}) })
			return
		}
		d.each(r.having(func(t *fold.Task) bool { return t.State != "dead" && !t.Halted }), Stop, "stop", "is running")
	case "S":
		d.each(r.having(func(t *fold.Task) bool { return t.Halted }), Start, "start", "was stopped")
	case "x":
		if len(running.tasks) == 0 {
			d.say("no task of " + r.name + " is running")
			return
		}
		d.ask("signal for "+r.name, "SIGHUP", func(text string) {
			if w := strings.Fields(text); len(w) == 1 {
				o := running.order(Signal)
				o.Text = w[0]
				d.order(o)
			}
		})
	case "c":
		d.scale(run, r)
	case "a", "e", "b":
		d.inTask(running, map[Key]Verb{"a": AskActions, "e": Shell, "b": Open}[k])
	case "y":
		d.order(Order{Verb: Copy, Text: r.name})
	}
}

// each orders something for the tasks of a row. For several, and to stop one, the user
// has to confirm it.
func (d *dialog) each(r *row, v Verb, does, when string) {
	o := r.order(v)
	what := r.name
	switch n := len(r.tasks); {
	case n == 0:
		d.say(fmt.Sprintf("no task of %s %s", r.name, when))
		return
	case n == 1 && v != Stop:
		d.order(o)
		return
	case n > 1:
		what = fmt.Sprintf("%d tasks of %s", n, r.name)
	}
	d.confirm(fmt.Sprintf("%s %s?", does, what), func() { d.order(o) })
}

// inTask orders something that concerns one task.
func (d *dialog) inTask(r *row, v Verb) {
	switch len(r.tasks) {
	case 0:
		d.say("no task of " + r.name + " is running")
	case 1:
		d.order(r.order(v))
	default:
		d.say(fmt.Sprintf("%s has %d tasks: select one", r.name, len(r.tasks)))
	}
}

func (d *dialog) scale(run *fold.Run, r *row) {
	if r.group == "" {
		d.say("select a group to scale it")
		return
	}
	count := 0
	for _, a := range run.Final() {
		if a.Job == r.job && a.Group == r.group && !a.Ended() {
			count++
		}
	}
	d.ask("count of group "+r.group, strconv.Itoa(count), func(text string) {
		n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31)
		if err != nil {
			d.fail(fmt.Errorf("cannot scale to %q: it is not a count", text))
			return
		}
		d.order(Order{Verb: Scale, Job: r.job, Group: r.group, Count: int(n), Label: r.group})
	})
}

// chooseAction asks which of the actions of the order's task to run.
func (d *dialog) chooseAction(o Order, names []string) {
	switch {
	case len(names) == 0:
		d.say(o.Label + " has no actions")
		return
	case d.question != nil:
		return // the user has gone on
	}
	d.ask("action of "+o.Label+" ("+strings.Join(names, ", ")+")", names[0], func(name string) {
		o.Verb, o.Text = Action, strings.TrimSpace(name)
		d.order(o)
	})
}
