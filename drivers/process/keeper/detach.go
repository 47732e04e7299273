package keeper

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"taskrun/drivers/process"
)

// Detached is a program to be run apart from this one.
type Detached struct {
	Args []string // of this same program, without its name
	Env  []string // "K=V", all of it
	Dir  string   // where it starts
	Log  *os.File // its stdout and stderr, and what the keeper has to say
	// RecordDir is where the record of the run is kept: a directory for the
	// user alone, in which every later command looks; see FindDead.
	RecordDir string
}

// Detach starts a keeper and, as its child, this program with other arguments,
// and returns when that reports by Watch.Stands: its words about the run, or as
// the error why that does not stand. From then on the program is started again, with the same
// arguments, whenever it dies, and its processes live on meanwhile; when it
// dies maxDeaths times in a row, each time within quickEnd of its start, the
// keeper kills the run and says so in the log.
//
// Where the system does not give the keeper what a dead program leaves (macOS)
// the run ends with its program, killed, as in the foreground.
//
// The keeper of a detached run may be killed as well. The program goes on then,
// under a keeper like that of a run in the foreground: no parent of its
// processes is left that could start it again and report how they end.
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
	// A Go program takes the first of two values of a variable.
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
		return "", fmt.Errorf("cannot learn whether the run stands: %w", err)
	}
	words, ok := strings.CutPrefix(string(text), stands)
	switch {
	case ok:
		return words, nil
	case words == "":
		return "", errors.New("the run ended before it stood; its log tells why")
	}
	return "", errors.New(words)
}
