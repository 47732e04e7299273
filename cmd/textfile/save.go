package textfile

import (
	"errors"
	"io/fs"
	"os"
)

// Save writes a text to a file in one step, whether the file is there or not. A
// file that is there is replaced as Write does it, and what is not a regular file,
// such as a pipe, is written to. If stdout or stderr leads there, the text follows
// what they have written.
func Save(name string, text []byte) error {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return replace(name, text, nil) // one that appears meanwhile is replaced
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
