package keeper

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"taskrun/drivers/process"
)

// parent is the keeper of a detached run. A single goroutine uses it.
type parent struct {
	clean    Cleaner
	adopts   bool // the system gives this program the children of the engine that died
	log      io.Writer
	record   *record
	claim    *os.File
	mark     uint64
	report   *os.File // for the first instance
	held     map[string]*os.File
	children map[process.ID]process.Child // recorded children of this program
	unwanted map[process.ID]bool          // to bury when they end

	instance int
	engine   process.ID // the engine, or zero
	line     *line
	messages chan message // from the engine; nil without one
	began    time.Time
	deaths   int
	stood    bool
	next     next
	woken    bool // Wake was called since the program was started
	call     call // how the program is started
	over     *over
}

// call is how a keeper starts the program of a detached run.
type call struct {
	Path string // of the program
	Args []string
	Env  []string // "K=V", complete
	Dir  string
}

func (p *parent) tell(m message) {
	if p.line != nil {
		_ = p.line.send(m) // an engine that has died needs no news
	}
}

// settleTime is how long a process may take from fork to exec.
const settleTime = time.Second

// adopt finds the tasks' processes among this program's children after the
// engine has died.
func (p *parent) adopt() error {
	c, err := parse(p.record.file)
	if err != nil {
		return fmt.Errorf("cannot read the record of the run: %w", err)
	}
	orphans := map[process.ID]process.Orphan{}
	for _, o := range process.Orphans() {
		orphans[o.ID] = o
	}
	known := map[process.ID]bool{}
	for _, s := range c.started {
		known[s.ID] = true
		if o, ok := orphans[s.ID]; ok {
			p.keep(o, s.Tag)
		} else {
			p.record.blank(s.cell) // it was reaped, but is still recorded
		}
	}
	for _, i := range c.intents {
		if o, ok := resolve(i, known); ok {
			p.record.set(i.cell, processLine(o.ID, i.tag))
			p.keep(o, i.tag)
		} else {
			p.record.blank(i.cell) // it was not forked
		}
	}
	return nil
}

// keep records a child.
func (p *parent) keep(o process.Orphan, tag string) {
	c, ok := p.children[o.ID]
	if !ok {
		c = process.Child{ID: o.ID, Tag: tag}
	}
	if o.Ended && !c.Ended {
		c.Ended, c.Status, c.EndedAt = true, o.Status, time.Now()
	}
	p.children[o.ID] = c
}

// resolve finds the process that was forked after an intent, if there is one.
// It leads a session that started after the intent. Its environment has the
// tag, unless the process has ended or cleared it: then it must be the only
// candidate.
func resolve(i intent, known map[process.ID]bool) (process.Orphan, bool) {
	for deadline := time.Now().Add(settleTime); ; <-time.After(time.Millisecond) {
		var tagged, bare []process.Orphan
		settled := true
		for _, o := range process.Orphans() {
			if known[o.ID] || o.Start < i.since {
				continue
			}
			switch tag, sure := o.Tag(); {
			case !sure: // it may be about to start its session, too
				settled = false
			case !o.Leader:
			case tag == i.tag:
				tagged = append(tagged, o)
			case tag == "":
				bare = append(bare, o)
			}
		}
		if !settled && time.Now().Before(deadline) {
			continue
		}
		return choose(tagged, bare)
	}
}

// choose returns the first process with the tag, or else the only one without
// any.
func choose(tagged, bare []process.Orphan) (process.Orphan, bool) {
	switch {
	case len(tagged) > 0:
		return slices.MinFunc(tagged, func(a, b process.Orphan) int { return cmp.Compare(a.Start, b.Start) }), true
	case len(bare) == 1:
		return bare[0], true
	}
	return process.Orphan{}, false
}

// look checks the children. It reports whether the engine has ended.
func (p *parent) look() (dead bool) {
	buried := 0
	for _, o := range process.EndedOrphans() {
		if o.ID == p.engine {
			process.Bury(o.ID)
			p.engine = process.ID{}
			dead = true
			continue
		}
		switch c, ok := p.children[o.ID]; {
		case p.unwanted[o.ID]:
			process.Bury(o.ID)
			delete(p.unwanted, o.ID)
		case ok && !c.Ended:
			p.keep(o, c.Tag)
			c = p.children[o.ID]
			p.tell(message{Child: &c})
		case ok: // the engine knows, or will ask
		case p.recorded(o): // the engine is about to die
		default:
			process.Bury(o.ID)
			buried++
		}
	}
	if buried > 0 && !dead {
		p.tell(message{Buried: buried})
	}
	return dead
}

// recorded reports whether a child that has ended may be in the record, even
// though it was not when the last instance died.
func (p *parent) recorded(o process.Orphan) bool {
	c, err := parse(p.record.file)
	if err != nil {
		return true
	}
	return o.Leader && len(c.intents) > 0 || slices.ContainsFunc(c.started, func(s started) bool { return s.ID == o.ID })
}
