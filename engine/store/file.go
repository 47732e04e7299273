package store

import (
	"errors"
	"os"
)

// recordFile is a state file, open for more records. Nothing is synced: the data
// survives a crash of the program, not of the machine.
type recordFile struct {
	path string
	file *os.File // nil: it is not open
	size int64
}

// resume opens a file that is there, and cuts off what follows the valid part.
func (f *recordFile) resume(length int) (err error) {
	if f.file, err = os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return err
	}
	f.size = int64(length)
	return f.file.Truncate(f.size)
}

// append writes all of a record, or nothing.
func (f *recordFile) append(rec *record) error {
	line, err := appendLine(nil, rec)
	if err != nil {
		return err
	}
	if _, err := f.file.Write(line); err != nil {
		return errors.Join(err, f.file.Truncate(f.size))
	}
	f.size += int64(len(line))
	return nil
}

// replace writes a new file with a text, and switches to it.
func (f *recordFile) replace(text []byte) error {
	next := f.path + ".new"
	file, err := os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if _, err = file.Write(text); err == nil {
		err = os.Rename(next, f.path)
	}
	if err != nil {
		return errors.Join(err, file.Close(), os.Remove(next))
	}
	err = f.shut()
	f.file, f.size = file, int64(len(text))
	return err
}

// shut closes the file if it is open.
func (f *recordFile) shut() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}
