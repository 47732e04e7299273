package rest

import (
	"context"
	"net/http"
	"strconv"
	"time"
)

// maxWait is how long a blocking query waits at most, and unless it says
// otherwise; see https://developer.hashicorp.com/nomad/api-docs#blocking-queries.
const maxWait = 300 * time.Second

// Handler answers a request, or returns an error before it has written
// anything.
type Handler func(*Request) error

// Get returns the object with which a request is answered.
type Get func(*Request) (any, error)

// Wait returns the index of objects of an ID, as soon as it is greater than
// after or the time has passed.
type Wait func(ctx context.Context, id string, after uint64, limit time.Duration) uint64

// Read makes a handler of a query: one that names an index is answered when the
// index of what it asks for is greater, or when its time has passed.
func Read(wait Wait, get Get) Handler {
	return func(r *Request) error {
		after, limit, err := r.blocking()
		if err != nil {
			return err
		}
		r.SetMeta(wait(r.Context(), r.ID, after, limit))
		body, err := r.prepare(get)
		if err != nil {
			return err
		}
		return r.Send(http.StatusOK, "application/json", body)
	}
}

// Write makes a handler of what has no index.
func Write(do Get) Handler {
	return func(r *Request) error {
		v, err := do(r)
		if err != nil {
			return err
		}
		return r.JSON(http.StatusOK, v)
	}
}

// Order makes a handler of what is done with a body of JSON.
func Order[T any](do func(r *Request, order *T) (any, error)) Handler {
	return Write(func(r *Request) (any, error) {
		order := new(T)
		if err := r.Decode(order); err != nil {
			return nil, err
		}
		return do(r, order)
	})
}

// prepare puts an answer together, a few at a time. A query that was blocking when
// the server ends still gets its answer, unless it would have to wait.
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

// blocking returns the index and the time that a query names.
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
