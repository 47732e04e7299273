package keeper

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"taskrun/drivers/process"
)

// Detached describes a program to run in the background.
type Detached struct {
	Args []string // arguments of this program, without its name
	Env  []string // "K=V", complete
	Dir  string   // working directory
	Log  *os.File // its stdout and stderr, and messages of the keeper
	// RecordDir is the directory of the run's record. It must be private to the
	// user; every later command searches it, see FindDead.
	RecordDir string
}

// Detach starts a keeper and, as its child, this program with other arguments.
// It returns when that calls Watch.Stands: words about the run, or the error of
// the start. From then on the keeper restarts the program, with the same
// arguments, whenever it dies; its processes stay alive meanwhile. If it dies
// maxDeaths times in a row, each time within quickEnd of its start, the keeper
// kills the run and writes that to the log.
//
// If the keeper cannot adopt the children of a dead program (macOS), the run is
// killed when its program dies, as in the foreground.
//
// If the keeper of a detached run is killed, the program continues under a new
// keeper like that of a run in the foreground: no parent is left that could
// restart the program and report how its processes end.
func Detach(d Detached) (words string, err error) {
	path, err := Program()
	if err != nil {
		return "", fmt.Errorf("cannot find this program: %w", err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return "", fmt.Errorf("cannot start a keeper: %w", err)
	}
	defer read.Close()
	// If a variable is set twice, Go programs use the first value.
	env := append([]string{roleVar + "=" + detachedRole, pathVar + "=" + d.RecordDir, dirVar + "=" + d.Dir}, d.Env...)
	_, err = process.Launch(process.Spec{
		Path: path, Name: "taskrun", Args: append([]string{"keeper", "of"}, d.Args...), Env: env, Dir: "/",
		Stdout: d.Log, Stderr: d.Log, Files: []*os.File{write},
	})
	write.Close()
	if err != nil {
		return "", fmt.Errorf("cannot start a keeper: %w", err)
	}
	text, err := io.ReadAll(read)
	if err != nil {
		return "", fmt.Errorf("cannot find out whether the run has started: %w", err)
	}
	words, ok := strings.CutPrefix(string(text), stands)
	switch {
	case ok:
		return words, nil
	case words == "":
		return "", errors.New("the run ended before it had started: see its log")
	}
	return "", errors.New(words)
}
