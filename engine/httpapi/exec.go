package httpapi

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/gorilla/websocket"

	"taskrun/engine"
)

// upgrader makes websockets. Requests with an Origin were refused before.
var upgrader = websocket.Upgrader{
	HandshakeTimeout: headerTime,
	ReadBufferSize:   32 << 10,
}

// exec answers GET /v1/client/allocation/:id/exec: it becomes a websocket, on
// which a command runs; see session. As in Nomad, what is wrong with the
// command is told as the reason why the websocket is closed.
func (s *Server) exec(w http.ResponseWriter, r *request) error {
	return s.serveSession(w, r, func(c *session) error {
		tty, err := c.terminal(r)
		if err != nil {
			return err
		}
		command, err := s.parseExec(r)
		if err != nil {
			return err
		}
		return s.engine.Exec(c.ctx, r.id, r.query.Get("task"), command, tty, c)
	})
}

// serveSession makes a websocket of a request, on which a command runs.
func (s *Server) serveSession(w http.ResponseWriter, r *request, command func(*session) error) error {
	if !websocket.IsWebSocketUpgrade(r.Request) {
		return fail(http.StatusBadRequest, "cannot run a command: the request is no websocket handshake")
	}
	s.sessions.Add(1)
	defer s.sessions.Done()
	conn, err := upgrader.Upgrade(w, r.Request, nil)
	if err != nil {
		return nil // Upgrade has answered
	}
	c := newSession(r.Context(), conn)
	c.run(func() error { return command(c) })
	return nil
}

// terminal reports whether the command gets a terminal, and keeps its kind.
func (c *session) terminal(r *request) (tty bool, err error) {
	if tty, err = strconv.ParseBool(r.query.Get("tty")); err != nil && r.query.Has("tty") {
		return false, err
	}
	c.term = r.query.Get("term") // not Nomad's: see drivers.TermStream
	if strings.ContainsRune(c.term, 0) {
		return false, fail(http.StatusBadRequest, "invalid kind of terminal")
	}
	return tty, nil
}

// parseExec returns the command, or why it cannot be run.
func (s *Server) parseExec(r *request) (command []string, err error) {
	if err := json.Unmarshal([]byte(r.query.Get("command")), &command); err != nil {
		return nil, err
	}
	if len(command) == 0 {
		return nil, fail(http.StatusBadRequest, "command is not present")
	}
	if r.query.Get("task") == "" {
		return nil, fail(http.StatusBadRequest, "must provide task name")
	}
	a, ok := s.engine.Alloc(r.id)
	if !ok {
		return nil, unknownAlloc(r.id)
	}
	return command, checkRuns(a, r.query.Get("task"))
}

// checkRuns says why no command can be run in a task.
func checkRuns(a engine.Alloc, task string) error {
	state, ok := a.Tasks[task]
	switch {
	case !ok:
		return fail(http.StatusInternalServerError, "task not found")
	case state.State == "running":
		return nil
	case state.StartedAt.IsZero():
		return fail(http.StatusNotFound, "task %q not started yet.", task)
	default:
		return fail(http.StatusNotFound, "task %q is not running.", task)
	}
}
