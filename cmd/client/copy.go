package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"
)

// ErrNoTool says that a task lacks a program with which it copies files.
var ErrNoTool = errors.New("the task has no sh or no tar")

// Place is the kind of file at a path in a task.
type Place string

// The places.
const (
	Directory Place = "directory"
	File      Place = "file"    // or anything else
	Nothing   Place = "nothing" // but there is the directory in which it could be
	Nowhere   Place = "nowhere"
)

// argument makes a path an argument that no program takes for an option.
func argument(name string) string {
	if path.IsAbs(name) {
		return name
	}
	return "./" + name
}

// run runs a command in the task for Copy. It returns what the command said in place of
// an exit code.
func (t *Task) run(ctx context.Context, stdin io.Reader, stdout io.Writer, command ...string) error {
	var said lastBytes
	code, err := t.Exec(ctx, Session{Command: command, Stdin: stdin, Stdout: stdout, Stderr: &said})
	switch text := strings.TrimSpace(said.String()); {
	case err != nil:
		return err
	case code == 0, code == 1 && onlyChanged(text):
		return nil
	case code == 126, code == 127:
		return ErrNoTool
	case text != "":
		first, _, _ := strings.Cut(text, "\n") // the others follow from it
		return errors.New(first)
	default:
		return fmt.Errorf("%s in the task ended with exit code %d", command[0], code)
	}
}

// onlyChanged reports whether tar has complained of nothing but files that were written
// to while it read them, such as logs.
func onlyChanged(said string) bool {
	for line := range strings.Lines(said) {
		if !strings.Contains(line, "changed as we read it") {
			return false
		}
	}
	return said != ""
}

// lastBytes keeps the last bytes that are written to it.
type lastBytes struct{ bytes.Buffer }

func (t *lastBytes) Write(p []byte) (int, error) {
	const kept = 2 << 10
	t.Buffer.Write(p[max(0, len(p)-kept):])
	if over := t.Len() - kept; over > 0 {
		t.Next(over)
	}
	return len(p), nil
}

// Look returns what is at a path of the running task, as the task sees it.
func (t *Task) Look(ctx context.Context, name string) (Place, error) {
	const script = `if [ -d "$1" ]; then echo directory; elif [ -e "$1" ] || [ -L "$1" ]; then echo file; elif [ -d "$2" ]; then echo nothing; else echo nowhere; fi`
	name = argument(name)
	var out lastBytes
	if err := t.run(ctx, strings.NewReader(""), &out, "sh", "-c", script, "sh", name, path.Dir(path.Clean(name))); err != nil {
		return "", err
	}
	place := Place(strings.TrimSpace(out.String()))
	if !slices.Contains([]Place{Directory, File, Nothing, Nowhere}, place) {
		return "", ErrNoTool
	}
	return place, nil
}

// ReadTar writes a file or directory of the running task to a tar stream. The names in it
// begin with base, which is in dir. The task's tar reads them, with the rights of the
// task and where the task sees them.
func (t *Task) ReadTar(ctx context.Context, to io.Writer, dir, base string) error {
	return t.run(ctx, strings.NewReader(""), to, "tar", "-c", "-f", "-", "-C", argument(dir), "./"+base)
}

// WriteTar unpacks a tar stream in a directory of the running task.
func (t *Task) WriteTar(ctx context.Context, from io.Reader, dir string) error {
	return t.run(ctx, from, io.Discard, "tar", "-x", "-p", "-o", "-f", "-", "-C", argument(dir))
}

// Names of entries in the stream of Put.
const (
	PutContent = "new"
	PutEnd     = "done" // the last entry: an empty file
)

// Put unpacks a tar stream with an entry PutContent under a path of the running task, when
// all of it is there: it becomes the path or, with merge, its contents are copied into
// the directory at the path.
func (t *Task) Put(ctx context.Context, from io.Reader, name, temporary string, merge bool) error {
	const script = `
		mkdir -m 700 "$1" || exit 2
		if ! tar -x -p -o -f - -C "$1" || ! [ -e "$1/done" ]; then
			rm -rf "$1"
			exit 2
		fi
		if [ "$3" = merge ]; then cp -a "$1/new/." "$2/"; else mv -f "$1/new" "$2"; fi
		code=$?
		rm -rf "$1"
		exit $code`
	name = argument(path.Clean(name))
	within, how := path.Dir(name), "move"
	if merge {
		within, how = name, "merge"
	}
	temporary = argument(path.Join(within, temporary))
	err := t.run(ctx, from, io.Discard, "sh", "-c", script, "sh", temporary, name, how)
	if err != nil && !errors.Is(err, ErrNoTool) { // the script may have been killed
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
		defer cancel()
		_ = t.run(ctx, strings.NewReader(""), io.Discard, "rm", "-rf", temporary)
	}
	return err
}

// cleanTime is how long it may take to remove what an interrupted copy has left.
const cleanTime = 5 * time.Second
