package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"taskrun/drivers"
)

// Error wraps an error of the engine in a message about the failed action. If
// the engine cannot be reached, the error is recoverable.
func Error(failed string, err error) error {
	wrapped := fmt.Errorf("%s: %w", failed, err)
	if Unreachable(err) {
		return drivers.Recoverable(wrapped)
	}
	return wrapped
}

// stateImproper are Podman's words for a container in the wrong state. It
// reports them as internal errors.
const stateImproper = "container state improper"

// processGone are words of Podman before 4.4 when the process of a container ends
// while it reads the cgroup of that process (Podman's issue 16383).
const processGone = "/cgroup: no such process"

// HasEnded reports whether an error says that a container is not running, or
// does not exist.
func HasEnded(err error) bool {
	return errdefs.IsConflict(err) || errdefs.IsNotFound(err) || says(err, stateImproper) || says(err, "no such container")
}

// NameIsTaken reports whether an error says that a container has the name of a
// new one.
func NameIsTaken(err error) bool {
	return errdefs.IsConflict(err) || says(err, "name is already in use")
}

func says(err error, words string) bool { return err != nil && strings.Contains(err.Error(), words) }

// Unreachable reports whether the engine did not answer, or only in part.
func Unreachable(err error) bool {
	_, broken := errors.AsType[*net.OpError](err)
	return broken || client.IsErrConnectionFailed(err) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
