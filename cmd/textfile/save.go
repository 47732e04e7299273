package textfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Save writes a text to a file in one step, whether the file is there or not. A
// file that is there is replaced as Write does it, and what is not a regular file,
// such as a pipe, is written to. If stdout or stderr leads there, the text follows
// what they have written.
func Save(name string, text []byte) error {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return create(name, text)
	case err != nil:
		return withoutPath(err)
	}
	if f := output(info); f != nil {
		_, err := f.Write(text)
		return withoutPath(err)
	}
	if info.Mode().IsRegular() {
		return Write(name, text)
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return withoutPath(err)
	}
	_, err = f.Write(text)
	return withoutPath(errors.Join(err, f.Close()))
}

// create writes a new file. One that appears meanwhile is replaced.
func create(name string, text []byte) error {
	next := filepath.Join(filepath.Dir(name), fmt.Sprintf(".taskrun-%x", rand.Uint64()))
	temp, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // less the umask
	if err != nil {
		return withoutPath(err)
	}
	_, err = temp.Write(text)
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(next, name)
	}
	if err != nil {
		_ = os.Remove(next) // the first error counts
	}
	return withoutPath(err)
}
