package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

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

// Unreachable reports whether the engine did not answer, or only in part.
func Unreachable(err error) bool {
	_, broken := errors.AsType[*net.OpError](err)
	return broken || client.IsErrConnectionFailed(err) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
