package rest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/hashicorp/nomad/api"
)

// BeatTime is the time between the empty frames by which a client sees that a
// stream still lives.
const BeatTime = time.Second

// Frames writes a stream as frames or, for a client that wants it plain, as its
// data alone.
type Frames struct {
	W       io.Writer
	Control *http.ResponseController
	Plain   bool
}

// Frames begins the answer to a request.
func (r *Request) Frames(plain bool) *Frames {
	kind := "application/json"
	if plain {
		kind = "text/plain"
	}
	r.Answer.Header().Set("X-Content-Type-Options", "nosniff")
	r.Answer.Header().Set("Content-Type", kind)
	return &Frames{W: r.Answer, Control: http.NewResponseController(r.Answer), Plain: plain}
}

// Write writes a frame.
func (f *Frames) Write(frame *api.StreamFrame) error {
	if f.Plain {
		_, err := f.W.Write(frame.Data)
		return err
	}
	body, err := json.Marshal(frame)
	if err != nil {
		return err
	}
	_, err = f.W.Write(body)
	return err
}

// Beat shows a client that the stream still lives.
func (f *Frames) Beat() error {
	if f.Plain {
		return nil
	}
	return errors.Join(f.Write(&api.StreamFrame{}), f.Flush())
}

// Flush sends what was written.
func (f *Frames) Flush() error { return f.Control.Flush() }

// End ends a stream. It cuts the connection after an error, and in place of an
// end that clients would take for more to come.
func (f *Frames) End(err error, followed bool) {
	if err != nil || followed && !f.Plain {
		panic(http.ErrAbortHandler)
	}
}
