package drivers

import "errors"

var (
	// ErrTaskNotFound is returned for an ID that is not registered.
	ErrTaskNotFound = errors.New("task not found for given id")

	// ErrPluginShutdown is the error of a result after the driver went away.
	// The task may still be running.
	ErrPluginShutdown = errors.New("plugin is shut down")

	// ErrUnwanted is returned for a start that was abandoned because the task is
	// being stopped.
	ErrUnwanted = errors.New("the task was stopped before it had started")
)

// NoCommandError says that a command, or its working directory, does not exist.
type NoCommandError struct{ Err error }

func (e *NoCommandError) Error() string { return e.Err.Error() }

func (e *NoCommandError) Unwrap() error { return e.Err }

// recoverableError marks an error after which a start may be retried.
type recoverableError struct{ error }

func (e recoverableError) Unwrap() error { return e.error }

// Recoverable marks err as one after which the restart policy may retry.
func Recoverable(err error) error {
	if err == nil {
		return nil
	}
	return recoverableError{err}
}

// IsRecoverable reports whether err was marked with Recoverable. As in Nomad,
// only the mark of the outermost error counts.
func IsRecoverable(err error) bool {
	_, ok := err.(recoverableError) //nolint:errorlint // only the outermost error counts
	return ok
}
