package view

import "bytes"

// lines splits the output in one stream into lines.
type lines struct {
	limit int    // how much of an unfinished line is held back, in bytes; longer lines are passed on in parts
	held  []byte // the beginning of an unfinished line
}

// cut calls emit with every line in data, without its newline and preceded by
// the text held back. whole is false for a part of a line that continues. The
// text is only valid during the call.
func (l *lines) cut(data []byte, emit func(text []byte, whole bool)) {
	for len(data) > 0 {
		i := bytes.IndexByte(data, '\n')
		if i < 0 {
			l.hold(data, emit)
			return
		}
		if len(l.held) == 0 {
			emit(data[:i], true)
		} else {
			l.held = append(l.held, data[:i]...)
			emit(l.held, true)
			l.forget()
		}
		data = data[i+1:]
	}
}

func (l *lines) hold(data []byte, emit func([]byte, bool)) {
	if len(l.held)+len(data) < l.limit {
		l.held = append(l.held, data...)
		return
	}
	l.release(emit)
	emit(data, false)
}

// release emits the text held back as a part of a line.
func (l *lines) release(emit func(text []byte, whole bool)) {
	if len(l.held) > 0 {
		emit(l.held, false)
		l.forget()
	}
}

// forget empties held, and frees the memory of an unusually long line.
func (l *lines) forget() {
	if cap(l.held) > 64<<10 {
		l.held = nil
	}
	l.held = l.held[:0]
}
