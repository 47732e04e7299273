package drivers

import "errors"

var (
	// ErrTaskNotFound is returned for an ID that is not registered. Compare
	// with errors.Is.
	ErrTaskNotFound = errors.New("task not found for given id")

	// ErrPluginShutdown is the error of a result when the driver went away
	// while the task may still run.
	ErrPluginShutdown = errors.New("plugin is shut down")

	// ErrUnwanted is returned for a start that was given up since the task was
	// to be stopped.
	ErrUnwanted = errors.New("the task was to be stopped before it had started")
)

// recoverableError marks an error after which a start may be tried again.
type recoverableError struct{ error }

func (e recoverableError) Unwrap() error { return e.error }

// Recoverable marks err as one after which the restart policy may try again.
func Recoverable(err error) error {
	if err == nil {
		return nil
	}
	return recoverableError{err}
}

// IsRecoverable reports whether err was marked with Recoverable. As in Nomad
// the mark counts only on the outermost error: wrapping it takes it away.
func IsRecoverable(err error) bool {
	_, ok := err.(recoverableError) //nolint:errorlint // wrapping takes the mark away
	return ok
}
