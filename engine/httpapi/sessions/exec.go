// Package sessions serves commands in tasks over websockets: exec and actions.
package sessions

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"taskrun/drivers"
	"taskrun/engine"
	"taskrun/engine/httpapi/render"
	"taskrun/engine/httpapi/rest"
)

// Handler serves the sessions of a run.
type Handler struct{ run *render.Run }

// New returns a handler.
func New(run *render.Run) *Handler { return &Handler{run} }

// handshakeTime is how long a client may take to read the response to its
// handshake.
const handshakeTime = 10 * time.Second

// upgrader creates websockets. Requests with an Origin were refused before.
var upgrader = websocket.Upgrader{
	HandshakeTimeout: handshakeTime,
	ReadBufferSize:   32 << 10,
}

// Exec answers GET /v1/client/allocation/:id/exec: it becomes a websocket for a
// command; see session. As in Nomad, an error of the command is the reason in
// the close message.
func (h *Handler) Exec(r *rest.Request) error {
	return h.serve(r, func() (a engine.Alloc, task string, command []string, err error) {
		a, command, err = h.parseExec(r)
		return a, r.Query.Get("task"), command, err
	})
}

// serve upgrades a request to a websocket and runs the command that find
// returns.
func (h *Handler) serve(r *rest.Request, find func() (a engine.Alloc, task string, command []string, err error)) error {
	if !websocket.IsWebSocketUpgrade(r.Request) {
		return rest.Fail(http.StatusBadRequest, "cannot run a command: the request is not a websocket handshake")
	}
	conn, err := upgrader.Upgrade(r.Answer, r.Request, nil)
	if err != nil {
		return nil // Upgrade has responded
	}
	c := newSession(r.Context(), conn)
	c.run(func() error {
		tty, err := strconv.ParseBool(r.Query.Get("tty"))
		if err != nil && r.Query.Has("tty") {
			return err
		}
		opts := &drivers.ExecOptions{Tty: tty}
		term := r.Query.Get("term") // Nomad's clients do not send it
		if strings.ContainsRune(term, 0) {
			return rest.Fail(http.StatusBadRequest, "invalid kind of terminal")
		}
		if tty {
			opts.Term = term
		}
		a, task, command, err := find()
		if err != nil {
			return err
		}
		opts.Command = command
		return c.streams.run(c.ctx, opts, func(ctx context.Context, opts *drivers.ExecOptions) (*drivers.ExitResult, error) {
			return a.Exec(ctx, task, opts)
		})
	})
	return nil
}

// parseExec returns the allocation and the command, or why it cannot run.
func (h *Handler) parseExec(r *rest.Request) (a engine.Alloc, command []string, err error) {
	if err := json.Unmarshal([]byte(r.Query.Get("command")), &command); err != nil {
		return a, nil, err
	}
	if len(command) == 0 {
		return a, nil, rest.Fail(http.StatusBadRequest, "command is not present")
	}
	if r.Query.Get("task") == "" {
		return a, nil, rest.Fail(http.StatusBadRequest, "must provide task name")
	}
	a, ok := h.run.Engine.Alloc(r.ID)
	if !ok {
		return a, nil, rest.UnknownAlloc(r.ID)
	}
	return a, command, checkRuns(a, r.Query.Get("task"))
}

// checkRuns returns why a task cannot run commands, or nil.
func checkRuns(a engine.Alloc, task string) error {
	state, ok := a.Tasks[task]
	switch {
	case !ok:
		return rest.Fail(http.StatusInternalServerError, "task not found")
	case state.State == "running":
		return nil
	case state.StartedAt.IsZero():
		return rest.Fail(http.StatusNotFound, "task %q not started yet.", task)
	default:
		return rest.Fail(http.StatusNotFound, "task %q is not running.", task)
	}
}
