package enginerun

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"taskrun/cmd/client"
	"taskrun/cmd/exit"
	"taskrun/cmd/lookup"
	"taskrun/cmd/source"
	"taskrun/drivers/process/keeper"
	"taskrun/engine/leaf/datadir"
)

// reached says how clients reach a run in the background. The run may have
// ended by the time they try.
type reached struct {
	client.Self
	Socket string
}

// Detach starts a run in the background. It reports every error that keeps the jobs
// from running. The arguments of its engine depend on the path of a file that has the
// input; environ is its environment.
func Detach(runs *lookup.Finder, dataDir string, input Input, args func(path string) []string, environ []string) (*source.Directory, error) {
	log, err := datadir.NewLog(dataDir)
	if err != nil {
		return nil, exit.ReadOnly(err, dataDir)
	}
	defer log.Close()
	input.Log = log.Name()
	path, err := input.encode()
	if err != nil {
		return nil, errors.Join(err, os.Remove(log.Name()))
	}
	defer os.Remove(path) // the engine removes it after reading it
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	sockets, err := runs.MakeSockets()
	if err != nil {
		return nil, err // nothing could stop a run without a socket
	}
	words, err := keeper.Detach(keeper.Detached{Args: args(path), Env: environ, Dir: dir, Log: log, RecordDir: sockets})
	if err != nil {
		return nil, notStarted(err, log.Name())
	}
	var run reached
	if err := json.Unmarshal([]byte(words), &run); err != nil {
		return nil, fmt.Errorf("cannot find out how to reach the run: %w", err)
	}
	server, err := client.Local(run.Socket)
	if err != nil {
		return nil, err
	}
	return source.NewDirectory(server, &run.Self), nil
}

// notStarted returns why there is no run, and removes the run's log.
func notStarted(failure error, log string) error {
	text, err := os.ReadFile(log)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	} else {
		err = errors.Join(err, os.Remove(log))
	}
	if told := exit.Unpack(failure); told != nil {
		told.Err = errors.Join(told.Err, err)
		return told
	}
	if said := strings.TrimSpace(string(text)); said != "" {
		failure = fmt.Errorf("%w:\n%s", failure, said)
	}
	return errors.Join(failure, err)
}
