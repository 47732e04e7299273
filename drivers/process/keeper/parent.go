package keeper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"taskrun/drivers/process"
)

// A program that dies within quickEnd of its start, maxDeaths times in a row,
// is not restarted. The pauses before restarts grow from firstPause.
const (
	quickEnd   = 10 * time.Second
	firstPause = 50 * time.Millisecond
)

// keepDetached is the keeper of a detached run.
func keepDetached(clean Cleaner) {
	adopts := process.AdoptOrphans()
	news, wake := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(news, syscall.SIGCHLD)
	signal.Notify(wake, wakeSignal)
	closeInherited(pipeFD)
	syscall.CloseOnExec(pipeFD)
	report := os.NewFile(pipeFD, "report")
	p := &parent{
		clean: clean, adopts: adopts, log: os.Stderr, report: report, held: map[string]*os.File{},
		children: map[process.ID]process.Child{}, unwanted: map[process.ID]bool{},
		call: call{Args: os.Args[3:], Env: ownEnviron(), Dir: os.Getenv(dirVar)},
	}
	if err := p.run(news, wake); err != nil {
		fmt.Fprintf(p.log, "taskrun: %v\n", err)
		if p.report != nil {
			_, _ = p.report.WriteString(err.Error()) // the program that detached may have gone
		}
	}
}

func (p *parent) run(news, wake <-chan os.Signal) (err error) {
	p.mark, p.claim = process.Mark()
	if p.record, err = createRecord(os.Getenv(pathVar)); err != nil {
		return err
	}
	if p.mark != 0 {
		p.record.put(fmt.Sprintf("mark %d", p.mark), 0)
	}
	if err := p.start(); err != nil {
		return errors.Join(err, p.record.remove())
	}
	var restart <-chan time.Time
	for {
		select {
		case m, ok := <-p.messages:
			if ok {
				p.take(m)
			} else {
				p.messages = nil
			}
		case <-news:
		case <-wake:
			p.woken = true
		case <-restart:
			restart = nil
			if err := p.start(); err != nil {
				return p.giveUp(err.Error())
			}
		}
		if p.look() { // the program has ended
			pause, err := p.handleEnd()
			if pause == 0 || err != nil {
				return err
			}
			if p.next.Wait {
				p.forgetSockets()
			} else {
				restart = time.After(pause)
			}
		}
		if p.next.Wait && p.woken && p.engine == (process.ID{}) {
			p.awake()
			restart = time.After(0)
		}
	}
}

// handleEnd decides what happens after the program has ended: it is restarted after
// a pause, or the run is over.
func (p *parent) handleEnd() (pause time.Duration, err error) {
	if p.messages != nil {
		for m := range p.messages { // its last messages
			p.take(m)
		}
		p.messages = nil
	}
	if p.line != nil {
		_ = p.line.close()
		p.line = nil
	}
	switch {
	case p.over != nil && p.over.Clean:
		return 0, nil // and the record is gone
	case p.over != nil || !p.stood:
		return 0, p.cleanUp()
	}
	if !p.adopts {
		return 0, p.giveUp("this system has given its processes to another parent")
	}
	if p.deaths = deathsInARow(p.deaths, time.Since(p.began), quickEnd); p.deaths >= maxDeaths {
		return 0, p.giveUp(fmt.Sprintf("it died %d times in a row", p.deaths))
	}
	if err := p.adopt(); err != nil {
		return 0, p.giveUp(err.Error())
	}
	return firstPause << (p.deaths - 1), nil
}

func (p *parent) giveUp(why string) error {
	fmt.Fprintf(p.log, "taskrun: the run was killed, for its program cannot be started again: %s\n", why)
	return p.cleanUp()
}

// cleanUp kills the run and removes its files.
func (p *parent) cleanUp() error {
	c, err := parse(p.record.file)
	if err != nil || c.program.PID == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanTime)
	defer cancel()
	if _, err := c.cleanUp(ctx, p.clean); err != nil {
		return err
	}
	return p.record.remove()
}

func (p *parent) take(m message) {
	switch {
	case m.Stood:
		p.stood = true
		p.closeReport()
	case m.Over != nil:
		p.over = m.Over
	case m.Next != nil:
		p.next = *m.Next
	case m.Reap != nil:
		c, ok := p.children[*m.Reap]
		delete(p.children, *m.Reap)
		switch {
		case c.Ended:
			process.Bury(c.ID)
		case ok:
			p.unwanted[c.ID] = true
		}
	case m.Hold != "":
		if f := p.held[m.Hold]; f != nil {
			f.Close()
		}
		if p.held[m.Hold] = m.file; m.file == nil {
			delete(p.held, m.Hold)
		}
	}
}

func (p *parent) closeReport() {
	if p.report != nil {
		p.report.Close()
		p.report = nil
	}
}

// start starts the program and sends it the keeper's state.
func (p *parent) start() error {
	path, err := p.program()
	if err != nil {
		return err
	}
	ours, theirs, err := pair()
	if err != nil {
		return err
	}
	defer theirs.Close()
	p.instance++
	files := []*os.File{theirs, p.record.file, p.claim, p.report}
	if p.claim == nil {
		files[2] = p.record.file // a placeholder
	}
	if p.report == nil {
		files = files[:3]
	}
	log := p.log.(*os.File)
	id, err := process.Launch(process.Spec{
		Path: path, Name: "taskrun", Args: p.call.Args, Env: append([]string{linkVar + "=" + strconv.Itoa(p.instance)}, p.call.Env...), Dir: p.call.Dir,
		Stdout: log, Stderr: log, Files: files,
	})
	if err != nil {
		return errors.Join(err, ours.Close())
	}
	p.closeReport()
	p.woken = false
	p.engine, p.began = id, time.Now()
	p.record.set(p.record.program, programLine(id))
	if p.line, err = newLine(ours); err != nil {
		return err
	}
	p.messages = make(chan message, 1)
	go listen(p.line, p.messages)
	p.greet()
	return nil
}

// program returns the path of the program, or of the keeper's own if that is gone.
func (p *parent) program() (string, error) {
	if info, err := os.Stat(p.next.Path); p.next.Path != "" && err == nil && info.Mode().IsRegular() {
		return p.next.Path, nil
	}
	return Program()
}

// ownEnviron returns the environment for the program.
func ownEnviron() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == roleVar || name == pathVar || name == dirVar
	})
}

// greet sends the keeper's state to a new instance. It ignores an instance that
// has already died.
func (p *parent) greet() {
	if p.mark != 0 {
		p.tell(message{Mark: p.mark})
	}
	for _, c := range p.children {
		p.tell(message{Child: &c})
	}
	for name, f := range p.held {
		p.tell(message{Hold: name, file: f})
	}
	p.tell(message{Welcome: &welcome{Instance: p.instance, Record: p.record.path}})
}

func listen(l *line, messages chan<- message) {
	defer close(messages)
	for {
		m, err := l.receive()
		if err != nil {
			return
		}
		messages <- m
	}
}
