package rest

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/nomad/api"
)

const (
	maxBody = 1 << 20 // bytes
	// BodyTime is how long a client may take to send a body.
	BodyTime = 10 * time.Second
)

// Request is a request with its parts and its response.
type Request struct {
	*http.Request
	Answer http.ResponseWriter
	ID     string // from the path
	Query  url.Values
	// Apart says that each namespace has objects of its own. Otherwise a
	// namespace is only a name, and a request without one includes all.
	Apart bool
	// MayRead, if set, reports whether the client may read a variable.
	MayRead func(namespace, path string) bool

	answers *Answers
}

// Flag returns a boolean parameter. The default, also for an empty value, is
// false.
func (r *Request) Flag(name string) (bool, error) { return r.FlagOr(name, false) }

// FlagOr is Flag with another default.
func (r *Request) FlagOr(name string, absent bool) (bool, error) {
	raw := r.Query.Get(name)
	if raw == "" {
		return absent, nil
	}
	v, err := strconv.ParseBool(raw)
	if err != nil {
		return false, Fail(http.StatusBadRequest, "Failed to parse value of %q (%v) as a bool: %v", name, raw, err)
	}
	return v, nil
}

// Number returns a numeric parameter, by default 0.
func (r *Request) Number(name string) (int64, error) {
	raw := r.Query.Get(name)
	if raw == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(raw, 10, 64)
	if err != nil {
		return 0, Fail(http.StatusBadRequest, "error parsing %s: %v", name, err)
	}
	return n, nil
}

// FromEnd reports whether the parameter origin says that an offset counts from
// the end.
func (r *Request) FromEnd() (bool, error) {
	switch r.Query.Get("origin") {
	case "", "start":
		return false, nil
	case "end":
		return true, nil
	}
	return false, Fail(http.StatusBadRequest, "origin must be start or end")
}

// Namespace returns the namespace that the request names.
func (r *Request) Namespace() string { return cmp.Or(r.Query.Get("namespace"), api.DefaultNamespace) }

// InNamespace reports whether the request includes objects of a namespace.
func (r *Request) InNamespace(name string) bool {
	switch asked := r.Query.Get("namespace"); asked {
	case "":
		return !r.Apart || name == api.DefaultNamespace
	case api.AllNamespacesNamespace:
		return true
	default:
		return asked == name
	}
}

// Names checks that the body of an order names the object of the path, as a Nomad
// server demands. The kind is Job or Deployment.
func (r *Request) Names(kind, id string) error {
	switch id {
	case r.ID:
		return nil
	case "":
		return Fail(http.StatusBadRequest, "%sID must be specified", kind)
	}
	return Fail(http.StatusBadRequest, "%s ID does not match", kind)
}

// Decode reads a JSON body of bounded size in bounded time.
func (r *Request) Decode(into any) error { return r.DecodeUpTo(maxBody, into) }

// DecodeUpTo is Decode with another limit, in bytes.
func (r *Request) DecodeUpTo(size int64, into any) error {
	return r.ReadBody(size, func(body io.Reader) error {
		err := json.NewDecoder(body).Decode(into)
		if errors.Is(err, io.EOF) {
			return ErrNoBody
		}
		return err
	})
}

// ErrNoBody is the error of a request without a required body.
var ErrNoBody = errors.New("Request body is empty")

// ReadBody reads a body of bounded size in bounded time. An error of read leads
// to status 400.
func (r *Request) ReadBody(size int64, read func(io.Reader) error) error {
	control := http.NewResponseController(r.Answer)
	if err := control.SetReadDeadline(time.Now().Add(BodyTime)); err != nil {
		return err
	}
	if err := read(http.MaxBytesReader(r.Answer, r.Body, size)); err != nil {
		return Fail(http.StatusBadRequest, "%v", err)
	}
	return control.SetReadDeadline(time.Time{})
}

// IsName reports whether a name has 1 to longest letters, digits, and other
// characters.
func IsName(name string, longest int, others string) bool {
	odd := func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune(others, c)
	}
	return name != "" && len(name) <= longest && !strings.ContainsFunc(name, odd)
}

// preparedAtOnce limits the responses that are prepared concurrently: each may
// take many times its size in memory.
const preparedAtOnce = 8

// Answers limits the memory for the responses of a server. Its methods are safe
// for concurrent use.
type Answers struct {
	preparing chan struct{} // a token for each response in preparation
	unread    atomic.Int64  // bytes
}

// NewAnswers returns the limits of a server.
func NewAnswers() *Answers { return &Answers{preparing: make(chan struct{}, preparedAtOnce)} }

// Request returns a request to a server, with the ID in its path.
func (a *Answers) Request(w http.ResponseWriter, r *http.Request, id string) *Request {
	return &Request{Request: r, Answer: w, ID: id, Query: r.URL.Query(), answers: a}
}
