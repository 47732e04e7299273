package httpapi

import (
	"encoding/json"
	"net/http"
	"time"
)

const (
	// preparedAtOnce is how many answers are put together at a time: each may
	// take many times its size in memory meanwhile.
	preparedAtOnce = 8
	// maxUnread is how many bytes of answers may wait for clients to read them.
	maxUnread = 64 << 20
	// readTime is how long a client may take to read an answer that is no
	// stream.
	readTime = 30 * time.Second
)

// writeJSON answers with an object, indented if the client asks for that.
func (r *request) writeJSON(w http.ResponseWriter, status int, v any) error {
	body, err := r.encode(v)
	if err != nil {
		return err
	}
	return r.server.send(w, status, body)
}

func (r *request) encode(v any) ([]byte, error) {
	if pretty, ok := r.query["pretty"]; ok && pretty[0] != "0" {
		return json.MarshalIndent(v, "", "    ")
	}
	return json.Marshal(v)
}

// prepare puts an answer together, a few at a time.
func (s *Server) prepare(r *request, get func() (any, error)) ([]byte, error) {
	select {
	case s.preparing <- struct{}{}:
		defer func() { <-s.preparing }()
	case <-s.ctx.Done():
		return nil, errShutdown
	}
	v, err := get()
	if err != nil {
		return nil, err
	}
	return r.encode(v)
}

// send sends an answer. What clients do not read is kept for a while and up to
// a size.
func (s *Server) send(w http.ResponseWriter, status int, body []byte) error {
	size := int64(len(body))
	unread := s.unread.Add(size)
	defer s.unread.Add(-size)
	if unread > maxUnread && unread > size { // a single one may be larger
		return fail(http.StatusServiceUnavailable, "clients do not read their answers: try again later")
	}
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Now().Add(readTime)) // else it takes as long as it takes
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if _, err := w.Write(body); err == nil { // a client that is gone needs no answer
		_ = control.SetWriteDeadline(time.Time{})
	}
	return nil
}
