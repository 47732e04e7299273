// Package rest is what the resources of Nomad's HTTP API have in common:
// requests and their parameters, answers and errors, blocking queries, filters,
// pages, and streams of frames. It knows no jobs and no engine.
package rest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

const (
	// maxUnread is how many bytes of answers may wait for clients to read them.
	maxUnread = 64 << 20
	// ReadTime is how long a client may take to read an answer that is no
	// stream.
	ReadTime = 30 * time.Second
)

// Request returns a request to a server, with the ID in its path.
func (a *Answers) Request(w http.ResponseWriter, r *http.Request, id string) *Request {
	return &Request{Request: r, Answer: w, ID: id, Query: r.URL.Query(), answers: a}
}

// JSON answers with an object, indented if the client asks for that.
func (r *Request) JSON(status int, v any) error {
	body, err := r.encode(v)
	if err != nil {
		return err
	}
	return r.Send(status, "application/json", body)
}

// Nothing answers without a body.
func (r *Request) Nothing() error {
	r.Answer.WriteHeader(http.StatusOK)
	return nil
}

// SetIndex tells the client the index of what it gets.
func (r *Request) SetIndex(index uint64) {
	r.Answer.Header().Set("X-Nomad-Index", strconv.FormatUint(index, 10))
}

// SetMeta tells the client what its library wants to know of an answer.
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

// Send answers with a body of a media type. A client has ReadTime to read it, and
// the answers that clients have yet to read may take 64 MiB together.
func (r *Request) Send(status int, kind string, body []byte) error {
	size := int64(len(body))
	unread := r.answers.unread.Add(size)
	defer r.answers.unread.Add(-size)
	if unread > maxUnread && unread > size { // a single one may be larger
		return Fail(http.StatusServiceUnavailable, "clients do not read their answers: try again later")
	}
	control := http.NewResponseController(r.Answer)
	_ = control.SetWriteDeadline(time.Now().Add(ReadTime)) // else it takes as long as it takes
	r.Answer.Header().Set("Content-Type", kind)
	r.Answer.WriteHeader(status)
	if _, err := r.Answer.Write(body); err == nil { // a client that is gone needs no answer
		_ = control.SetWriteDeadline(time.Time{})
	}
	return nil
}
