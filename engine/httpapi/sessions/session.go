package sessions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/execwire"
	"taskrun/engine/httpapi/rest"
)

const (
	// maxMessage limits the messages of a client, in bytes; Nomad's own contain
	// 2 KiB of input.
	maxMessage = 1 << 20
	// pingTime is the interval of pings. Reading detects a client that is gone;
	// pings do so while its command does not read its input.
	pingTime = time.Second
	// closeTime is how long a client may take to notice the end of the server.
	closeTime = time.Second
	// restTime is how long a client may take to read what is left when its command
	// has ended: on a busy machine it may not run for seconds.
	restTime = 10 * time.Second
	// maxReason limits the reason of a close message (RFC 6455, 5.5).
	maxReason = 123
)

// session carries the messages of a command over a websocket.
//
// One goroutine reads the websocket from the first to the last message, and so
// detects when the client goes away. The kernel reports that for local sockets;
// silence alone, even of a stopped client, never ends a session.
type session struct {
	*streams
	conn   *websocket.Conn
	out    []byte          // the latest message to the client
	ctx    context.Context // done: kill the command
	cancel context.CancelCauseFunc

	over     chan struct{} // closed when the command has ended
	children sync.WaitGroup
}

func newSession(ctx context.Context, conn *websocket.Conn) *session {
	c := &session{conn: conn, over: make(chan struct{})}
	c.streams = newStreams(c.write)
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	return c
}

// run connects a command to the client, and reports to the client how it ended.
func (c *session) run(command func() error) {
	defer c.cancel(nil)
	defer c.conn.Close() // even in a panic, which net/http would hide from the client
	c.children.Go(c.read)
	c.children.Go(c.ping)
	// A client that does not read must not delay the end of the server.
	done := make(chan struct{})
	defer close(done)
	defer context.AfterFunc(c.ctx, func() {
		select {
		case <-time.After(closeTime):
			_ = c.conn.Close() // unblocks a writer
		case <-done:
		}
	})()
	err := command()
	if c.ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = context.Cause(c.ctx) // it is more specific
	}
	close(c.over)
	c.stdin.close(io.ErrClosedPipe) // drops further input of the client
	cut := time.AfterFunc(restTime, func() { _ = c.conn.Close() })
	defer cut.Stop()
	_ = c.conn.WriteControl(websocket.CloseMessage, closing(err), time.Now().Add(restTime))
	c.children.Wait() // until the client has closed the connection: it may still be reading
}

// closing returns the message that closes a session.
func closing(err error) []byte {
	if err == nil {
		return websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	}
	code := websocket.ClosePolicyViolation
	if rest.StatusOf(err) == http.StatusInternalServerError {
		code = websocket.CloseInternalServerErr
	}
	reason := err.Error()
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "")
	}
	return websocket.FormatCloseMessage(code, reason)
}

// read reads messages of the client until it is gone, and then kills the
// command.
func (c *session) read() {
	c.conn.SetReadLimit(maxMessage)
	for {
		_, body, err := c.conn.ReadMessage()
		var m *api.ExecStreamingInput
		if err == nil {
			m, err = execwire.ParseInput(body)
		}
		if err != nil {
			c.cancel(fmt.Errorf("the client is gone: %w", err))
			c.stdin.close(io.ErrUnexpectedEOF)
			return
		}
		c.take(m)
	}
}

// ping kills the command if a ping cannot be sent. A client that does not read
// only delays the ping, which does not end the session.
func (c *session) ping() {
	ticker := time.NewTicker(pingTime)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-c.over:
			return
		}
		if err := c.conn.WriteControl(websocket.PingMessage, nil, time.Time{}); err != nil {
			c.cancel(fmt.Errorf("the client is gone: %w", err))
			return
		}
	}
}

// write sends a message to the client.
func (c *session) write(m *api.ExecStreamingOutput) (err error) {
	if c.out, err = execwire.AppendOutput(c.out[:0], m); err != nil {
		return err
	}
	return c.conn.WriteMessage(websocket.TextMessage, c.out)
}
