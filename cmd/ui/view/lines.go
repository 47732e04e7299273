package view

import "bytes"

// lines cuts what a task writes to one stream into lines.
type lines struct {
	limit int    // how much of an unfinished line is held back, in bytes; the rest passes in parts
	held  []byte // the beginning of a line whose end has not come yet
}

// cut calls emit with every line in data, without its newline and together
// with what was held back. whole is false for a part of a line, after which
// the rest of it will follow. The text may be used during the call.
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

// release emits what is held back as a part of a line.
func (l *lines) release(emit func(text []byte, whole bool)) {
	if len(l.held) > 0 {
		emit(l.held, false)
		l.forget()
	}
}

// forget empties held, and gives back the memory that an unusual line took.
func (l *lines) forget() {
	if cap(l.held) > 64<<10 {
		l.held = nil
	}
	l.held = l.held[:0]
}
