package hooks_test

import (
	"errors"
	"testing"

	"taskrun/hooks"
)

// TestEventError checks that an error with an event keeps its text.
func TestEventError(t *testing.T) {
	t.Parallel()
	why := errors.New("why")
	err := error(&hooks.EventError{Err: why})
	if err.Error() != "why" || !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}
