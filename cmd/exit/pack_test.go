package exit_test

import (
	"errors"
	"fmt"
	"testing"

	"taskrun/cmd/exit"
)

func TestPackedErrorsArriveAsTheyWere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want exit.Error
	}{
		{fmt.Errorf("outer: %w", exit.Usage("inner").WithHint("do this")), exit.Error{Code: 2, Err: errors.New("outer: inner"), Hint: "do this"}},
		{errors.New("the disk is full"), exit.Error{Code: 125, Err: errors.New("the disk is full")}},
	} {
		got := exit.Unpack(fmt.Errorf("%w", exit.Pack(c.err)))
		if got == nil || got.Code != c.want.Code || got.Error() != c.want.Error() || got.Hint != c.want.Hint {
			t.Errorf("%v arrives as %+v", c.err, got)
		}
	}
	for _, err := range []error{nil, exit.Silent(1)} {
		if got := exit.Pack(err); got != nil {
			t.Errorf("there is nothing to tell of %v, but it is %v", err, got)
		}
	}
	if got := exit.Unpack(errors.New("the keeper has died")); got != nil {
		t.Errorf("a text that nobody packed is read as %v", got)
	}
}
