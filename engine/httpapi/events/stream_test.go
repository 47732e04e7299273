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

// A line that a client does not get is an error, so that the stream ends.
func TestLinesForAClientThatIsGone(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	for name, c := range map[string]connection{"none": {}, "deadline": {deadline: gone}, "write": {write: gone}} {
		c.ResponseRecorder = httptest.NewRecorder()
		lines := lineWriter{json.NewEncoder(c), http.NewResponseController(c)}
		if err := lines.write(struct{}{}); (err != nil) != (name != "none") {
			t.Errorf("%s: %v", name, err)
		}
		if got := c.Body.String(); name == "none" && got != "{}\n" || name != "none" && got != "" || c.Flushed != (name == "none") {
			t.Errorf("%s: %q, flushed %v", name, got, c.Flushed)
		}
	}
}
