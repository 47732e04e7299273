package mock

import (
	"io"
	"time"
)

// player writes the output to one stream: the text once, then repeat times after
// a pause each. It closes the stream when all is written, a write has failed, or
// finish is called.
type player struct {
	text   string
	repeat int
	pause  time.Duration
	w      io.WriteCloser // nil once finished
	timer  *time.Timer    // of the next repetition
}

// write writes the text and, if it is to be repeated, sets the timer.
func (p *player) write() error {
	if p.text == "" {
		p.finish()
		return nil
	}
	_, err := io.WriteString(p.w, p.text)
	switch {
	case err != nil || p.repeat <= 0:
		p.finish()
	case p.timer == nil:
		p.timer = time.NewTimer(p.pause)
	default:
		p.timer.Reset(p.pause)
	}
	p.repeat--
	return err
}

// due is when to write again, never once finished.
func (p *player) due() <-chan time.Time {
	if p.timer == nil || !p.playing() {
		return nil
	}
	return p.timer.C
}

func (p *player) playing() bool { return p.w != nil }

func (p *player) finish() {
	if !p.playing() {
		return
	}
	if p.timer != nil {
		p.timer.Stop()
	}
	p.w.Close()
	p.w = nil
}
