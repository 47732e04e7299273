package hooks_test

import (
	"errors"
	"testing"

	"taskrun/hooks"
)

// An error with an event reads as the error that it is.
func TestEventError(t *testing.T) {
	t.Parallel()
	why := errors.New("why")
	err := error(&hooks.EventError{Err: why})
	if err.Error() != "why" || !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}
