package events

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// connection fails at the steps that have an error.
type connection struct {
	*httptest.ResponseRecorder
	deadline, write error
}

func (c connection) SetWriteDeadline(time.Time) error { return c.deadline }

func (c connection) Write(p []byte) (int, error) {
	if c.write != nil {
		return 0, c.write
	}
	return c.ResponseRecorder.Write(p)
}

// A line that a client does not get returns an error, so that the stream ends.
func TestLinesForAClientThatIsGone(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	for _, tt := range []struct {
		c    connection
		err  error
		text string
	}{
		{connection{}, nil, "{}\n"},
		{connection{deadline: gone}, gone, ""},
		{connection{write: gone}, gone, ""},
	} {
		tt.c.ResponseRecorder = httptest.NewRecorder()
		lines := lineWriter{json.NewEncoder(tt.c), http.NewResponseController(tt.c)}
		if err := lines.write(struct{}{}); !errors.Is(err, tt.err) {
			t.Errorf("%+v: %v", tt.c, err)
		}
		if got := tt.c.Body.String(); got != tt.text || tt.c.Flushed != (tt.err == nil) {
			t.Errorf("%+v: %q, flushed: %t", tt.c, got, tt.c.Flushed)
		}
	}
}
