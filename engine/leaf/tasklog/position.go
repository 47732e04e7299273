package tasklog

import "io"

// Position returns the name of the file that was read last and the offset in
// it behind what was read, in bytes; an empty name before the first file.
func (r *Reader) Position() (file string, offset int64) {
	if r.file == nil {
		return "", 0
	}
	offset, _ = r.file.Seek(0, io.SeekCurrent) // a regular file tells
	return fileName(r.prefix, r.index), offset
}
