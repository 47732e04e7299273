package tasklog

import "time"

// markCut marks the file, or takes the mark away. An error is ignored: without
// the mark the next engine only joins two lines.
func (r *files) markCut(cut bool) {
	if r.current == nil || r.marked == cut {
		return
	}
	r.marked = cut
	if info, err := r.current.file.Stat(); err == nil {
		mode := info.Mode().Perm()
		if cut {
			mode |= cutMark
		}
		_ = r.current.file.Chmod(mode)
	}
}

// endCutLine ends on disk the line whose rest was lost: what comes now does not
// belong to it. That is not announced, for the rest was.
func (r *files) endCutLine(at time.Time) {
	if r.current == nil && r.openHighest() != nil || !r.marked {
		return
	}
	if r.midLine {
		if _, _, _, err := r.put([]byte{'\n'}, at); err != nil {
			return // what comes next will tell
		}
	}
	r.markCut(false)
}
