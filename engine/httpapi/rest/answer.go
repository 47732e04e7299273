// Package rest contains what the resources of Nomad's HTTP API have in common:
// requests and parameters, responses and errors, blocking queries, filters,
// pagination, and streams of frames. It knows no jobs and no engine.
package rest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

const (
	// maxUnread limits the total size of responses that clients have not read,
	// in bytes.
	maxUnread = 64 << 20
	// ReadTime is how long a client may take to read a response that is not a
	// stream.
	ReadTime = 30 * time.Second
)

// JSON responds with an object, indented if the client wants it.
func (r *Request) JSON(status int, v any) error {
	body, err := r.encode(v)
	if err != nil {
		return err
	}
	return r.Send(status, "application/json", body)
}

// Nothing responds without a body.
func (r *Request) Nothing() error {
	r.Answer.WriteHeader(http.StatusOK)
	return nil
}

// SetIndex sets the header with the index of the response.
func (r *Request) SetIndex(index uint64) {
	r.Answer.Header().Set("X-Nomad-Index", strconv.FormatUint(index, 10))
}

// SetMeta sets the headers that Nomad's client library expects.
func (r *Request) SetMeta(index uint64) {
	r.SetIndex(index)
	r.Answer.Header().Set("X-Nomad-KnownLeader", "true")
	r.Answer.Header().Set("X-Nomad-LastContact", "0")
}

func (r *Request) encode(v any) ([]byte, error) {
	if pretty, ok := r.Query["pretty"]; ok && pretty[0] != "0" {
		return json.MarshalIndent(v, "", "    ")
	}
	return json.Marshal(v)
}

// Send responds with a body of a media type. The client has ReadTime to read
// it, and all unread responses together may take 64 MiB.
func (r *Request) Send(status int, kind string, body []byte) error {
	size := int64(len(body))
	unread := r.answers.unread.Add(size)
	defer r.answers.unread.Add(-size)
	if unread > maxUnread && unread > size { // a single one may be larger
		return Fail(http.StatusServiceUnavailable, "clients do not read their answers: try again later")
	}
	control := http.NewResponseController(r.Answer)
	_ = control.SetWriteDeadline(time.Now().Add(ReadTime)) // best effort
	r.Answer.Header().Set("Content-Type", kind)
	r.Answer.WriteHeader(status)
	if _, err := r.Answer.Write(body); err == nil { // ignore clients that are gone
		_ = control.SetWriteDeadline(time.Time{})
	}
	return nil
}
