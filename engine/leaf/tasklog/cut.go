package tasklog

import (
	"io/fs"
	"os"
)

// cutMark is the bit in the mode of a file that ends within a line whose rest was
// lost. It means nothing for files otherwise. The next writer ends the line first.
// A full disk has room for no other mark, and the engine may be killed before
// there is room again.
const cutMark = fs.ModeSticky

func isCut(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&cutMark != 0
}

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
func (r *files) endCutLine() {
	if r.current == nil && r.openHighest() != nil || !r.marked {
		return
	}
	if r.midLine {
		if _, _, _, err := r.put([]byte{'\n'}); err != nil {
			return // what comes next will tell
		}
	}
	r.markCut(false)
}
