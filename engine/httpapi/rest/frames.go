package rest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/hashicorp/nomad/api"
)

// BeatTime is the interval of the empty frames that show a client that a stream
// is alive.
const BeatTime = time.Second

// Frames writes a stream as frames or, if a client wants it plain, as data
// only.
type Frames struct {
	W       io.Writer
	Control *http.ResponseController
	Plain   bool
}

// Frames starts the response to a request.
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

// Beat shows a client that the stream is alive.
func (f *Frames) Beat() error {
	if f.Plain {
		return nil
	}
	return errors.Join(f.Write(&api.StreamFrame{}), f.Flush())
}

// Flush sends what was written.
func (f *Frames) Flush() error { return f.Control.Flush() }

// End ends a stream. It cuts the connection after an error, and if clients
// would mistake a normal end for a stream that continues.
func (f *Frames) End(err error, followed bool) {
	if err != nil || followed && !f.Plain {
		panic(http.ErrAbortHandler)
	}
}
