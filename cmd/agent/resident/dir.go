package resident

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"taskrun/drivers/process"
	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/datadir"
)

// agentLock is the name under which the keeper of an agent holds its lock.
const agentLock = "agent lock"

// Files in the directory of an agent.
const (
	agentAddress = "address" // of the port
	agentWaits   = "waiting" // the keeper that waits for the next agent
	CallFile     = "call"    // how that is started
)

// LogPath returns the log of an agent in the background.
func LogPath(dataDir string) string { return filepath.Join(dataDir, "agent", "agent.log") }

// Signals to an agent.
const (
	LeaveSignal = syscall.SIGUSR1 // end without the tasks, in the background
	KillSignal  = syscall.SIGUSR2 // kill the tasks, and end
)

// WaitingKeeper returns the keeper that waits for the next agent of a data
// directory, or nil.
func WaitingKeeper(dataDir string) (*process.ID, error) {
	text, err := ReadLimited(filepath.Join(dataDir, "agent", agentWaits))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var id process.ID
	if err != nil || json.Unmarshal(text, &id) != nil || !id.Running() {
		return nil, err
	}
	return &id, nil
}

// token returns the token of the port, which outlives the agent.
func token(dir *datadir.Agent) (string, error) {
	path := dir.Path("token")
	text, err := os.ReadFile(path)
	if t := strings.TrimSpace(string(text)); err == nil && len(t) == len(httpapi.NewToken()) {
		return t, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("cannot read the token of the agent: %w", err)
	}
	t := httpapi.NewToken()
	_ = os.Remove(path) // one that was cut off
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = f.WriteString(t + "\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return "", fmt.Errorf("cannot keep the token of the agent: %w", err)
	}
	return t, nil
}

// maxSettings limits the size of a configuration file, in bytes.
const maxSettings = 4 << 20

// ReadLimited reads a regular file.
func ReadLimited(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%q is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSettings+1))
	if err == nil && len(text) > maxSettings {
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("the file is too large")}
	}
	return text, err
}
