package tasklog

// SkipTo passes over everything there is but the last bytes, and counts it as skipped:
// for a reader that shows only the latest part of a flood. It must not run at the same
// time as Read.
func (r *Reader) SkipTo(last int64) {
	r.Hold()
	rest, behind := r.ahead()
	for behind > 0 && behind >= last {
		r.skip(rest)
		r.goOn()
		rest, behind = r.ahead()
	}
	if over := rest + behind - last; over > 0 {
		r.skip(min(over, rest))
	}
}

// skip moves ahead by n bytes in the file without reading them.
func (r *Reader) skip(n int64) {
	r.offset += n
	r.at += n
	r.skipped += n
}

// ahead returns how many bytes there are to read in the file, and in those behind it
// that are held.
func (r *Reader) ahead() (rest, behind int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.held {
		behind += sizeOf(h.file)
	}
	if r.file != nil {
		rest = max(0, sizeOf(r.file)-r.offset)
	}
	return rest, behind
}
