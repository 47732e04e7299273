package drivers

import (
	"errors"
	"fmt"
	"testing"
)

// Only the mark of the outermost error counts, and it hides nothing.
func TestRecoverable(t *testing.T) {
	t.Parallel()
	if Recoverable(nil) != nil || IsRecoverable(nil) || IsRecoverable(ErrUnwanted) {
		t.Error("what is no error, or not marked, is recoverable")
	}
	err := Recoverable(ErrUnwanted)
	if !IsRecoverable(err) || !errors.Is(err, ErrUnwanted) || err.Error() != ErrUnwanted.Error() {
		t.Errorf("marked it is %v", err)
	}
	if IsRecoverable(fmt.Errorf("more: %w", err)) {
		t.Error("the mark outlives wrapping")
	}
}
