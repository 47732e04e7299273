package rest

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// maxWait is the maximum, and the default, duration of a blocking query; see
// https://developer.hashicorp.com/nomad/api-docs#blocking-queries.
const maxWait = 300 * time.Second

// Handler responds to a request. It returns an error only before it has written
// anything.
type Handler func(*Request) error

// Get returns the object with which to respond to a request.
type Get func(*Request) (any, error)

// Wait returns the index of the objects that a request names, once it is
// greater than after or limit has passed.
type Wait func(r *Request, after uint64, limit time.Duration) uint64

// Read returns the handler of a query. If the query names an index, the handler
// waits until the index of the data is greater, or until the query's time has
// passed.
func Read(wait Wait, get Get) Handler {
	return func(r *Request) error {
		after, limit, err := r.blocking()
		if err != nil {
			return err
		}
		r.SetMeta(wait(r, after, limit))
		body, err := r.prepare(get)
		if err != nil {
			return err
		}
		return r.Send(http.StatusOK, "application/json", body)
	}
}

// Write returns the handler of a request without an index.
func Write(do Get) Handler {
	return func(r *Request) error {
		v, err := do(r)
		if err != nil {
			return err
		}
		return r.JSON(http.StatusOK, v)
	}
}

// Change returns the handler of a change, whose response has no body but the
// index of the change.
func Change(do func(*Request) (index uint64, err error)) Handler {
	return func(r *Request) error {
		index, err := do(r)
		if err != nil {
			return err
		}
		r.SetIndex(index)
		return r.Nothing()
	}
}

// Order returns the handler of a request with a JSON body.
func Order[T any](do func(r *Request, order *T) (any, error)) Handler {
	return Write(func(r *Request) (any, error) {
		order := new(T)
		if err := r.Decode(order); err != nil {
			return nil, err
		}
		return do(r, order)
	})
}

// OrderOrNone is Order for a request that may have no body.
func OrderOrNone[T any](do func(r *Request, order *T) (any, error)) Handler {
	withBody, without := Order(do), Write(func(r *Request) (any, error) { return do(r, new(T)) })
	return func(r *Request) error {
		if r.ContentLength == 0 {
			return without(r)
		}
		return withBody(r)
	}
}

// prepare prepares a response; only a few are prepared concurrently. A query
// that was blocking when the server ends still gets its response, unless it
// would have to wait.
func (r *Request) prepare(get Get) ([]byte, error) {
	select {
	case r.answers.preparing <- struct{}{}:
	default:
		select {
		case r.answers.preparing <- struct{}{}:
		case <-r.Context().Done():
			return nil, context.Cause(r.Context())
		}
	}
	defer func() { <-r.answers.preparing }()
	v, err := get(r)
	if err != nil {
		return nil, err
	}
	return r.encode(v)
}

// blocking returns the index and the time in a query.
func (r *Request) blocking() (after uint64, wait time.Duration, err error) {
	if raw := r.Query.Get("index"); raw != "" {
		if after, err = strconv.ParseUint(raw, 10, 64); err != nil {
			return 0, 0, Fail(http.StatusBadRequest, "Invalid index")
		}
	}
	if raw := r.Query.Get("wait"); raw != "" {
		if wait, err = time.ParseDuration(raw); err != nil {
			return 0, 0, Fail(http.StatusBadRequest, "Invalid wait time")
		}
	}
	if wait <= 0 || wait > maxWait {
		wait = maxWait
	}
	return after, wait, nil
}
