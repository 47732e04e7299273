package tasklog

import "bytes"

// maxLine is the length in bytes up to which a line is never split between two
// files.
const maxLine = 32 << 10

// fit returns how many bytes of p to write to a file of a size; 0 means to rotate
// first. A file never grows beyond limit, and a line of up to maxLine is not split:
// a line whose end is not known yet begins only if the file has room for maxLine.
// midLine means that the file ends within a line. An empty file takes at least one
// byte.
func fit(p []byte, size, limit int64, midLine bool) int {
	room := limit - size
	if room <= 0 {
		return 0
	}
	if int64(len(p))+maxLine <= room {
		return len(p)
	}
	head := p[:min(int64(len(p)), room)]
	lines := bytes.LastIndexByte(head, '\n') + 1
	tail := p[lines:]
	switch {
	case len(tail) == 0:
		return lines
	case lines == 0 && midLine:
		return len(head) // the line began here when there was room for maxLine
	}
	room -= int64(lines)
	length, known := int64(len(tail)), false
	if end := bytes.IndexByte(tail, '\n') + 1; end > 0 {
		length, known = int64(end), true
	}
	switch {
	case length > limit, !known && limit < maxLine:
		return len(head) // it cannot be kept whole: fill the file
	case !known && room >= max(length, maxLine):
		return len(p)
	}
	return lines
}
