package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/gorilla/websocket"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/execwire"
)

// stdinPiece limits the input in one message, in bytes.
const stdinPiece = 32 << 10

// execInEngine runs a command in a task of an engine of this machine. It replaces
// Allocations().Exec of Nomad's client, which spends most of its time decoding
// JSON, and sends input in pieces of 2 KiB.
func execInEngine(ctx context.Context, t *Task, s Session) (int, error) {
	conn, err := openExec(ctx, t, s)
	if err != nil {
		return 0, err
	}
	defer conn.Close() // it also ends receive
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var sending sync.Mutex
	var message []byte
	send := func(m *api.ExecStreamingInput) (err error) {
		sending.Lock()
		defer sending.Unlock()
		if message, err = execwire.AppendInput(message[:0], m); err != nil {
			return err
		}
		return conn.WriteMessage(websocket.TextMessage, message)
	}
	go func() {
		if err := sendInput(s.Stdin, send); err != nil {
			cancel(fmt.Errorf("failed to send input: %w", err))
		}
	}()
	go sendSizes(ctx, s.Sizes, send)
	var code int
	ended := make(chan struct{})
	go func() { // writing may block
		defer close(ended)
		code, err = receive(conn, s)
	}()
	select {
	case <-ended:
		return code, err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

func openExec(ctx context.Context, t *Task, s Session) (*websocket.Conn, error) {
	q := url.Values{"namespace": {t.Alloc.Namespace}, "task": {t.Name}, "tty": {strconv.FormatBool(s.Tty)}}
	where := url.URL{Scheme: "ws", Host: "127.0.0.1", Path: "/v1/client/allocation/" + t.Alloc.ID + "/exec"}
	if s.Action != "" {
		q.Set("action", s.Action)
		q.Set("allocID", t.Alloc.ID)
		where.Path = "/v1/job/" + t.Alloc.JobID + "/action"
	} else {
		command, err := json.Marshal(s.Command)
		if err != nil {
			return nil, err
		}
		q.Set("command", string(command))
	}
	if s.Tty && s.Term != "" {
		q.Set("term", s.Term)
	}
	where.RawQuery = q.Encode()
	d := websocket.Dialer{
		NetDialContext: dialer(t.Server.Socket), HandshakeTimeout: localTime,
		ReadBufferSize: 64 << 10, WriteBufferSize: 64 << 10,
	}
	conn, answer, err := d.DialContext(ctx, where.String(), nil) //nolint:bodyclose // it is in memory
	if err == nil || answer == nil {
		return conn, err
	}
	reason, _ := io.ReadAll(answer.Body) // as much of it as there is
	if text := strings.TrimSpace(string(reason)); text != "" {
		return nil, fmt.Errorf("it answered %d: %s", answer.StatusCode, text)
	}
	return nil, fmt.Errorf("it answered %d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
}

// sendInput sends stdin until its end. It returns read errors; receive sees
// errors of the connection.
func sendInput(stdin io.Reader, send func(*api.ExecStreamingInput) error) error {
	piece := make([]byte, stdinPiece)
	for {
		n, err := stdin.Read(piece)
		if n > 0 && send(&api.ExecStreamingInput{Stdin: &api.ExecStreamingIOOperation{Data: piece[:n]}}) != nil {
			return nil
		}
		switch {
		case err == io.EOF:
			_ = send(&api.ExecStreamingInput{Stdin: &api.ExecStreamingIOOperation{Close: true}})
			return nil
		case err != nil:
			return err
		}
	}
}

// sendSizes sends the sizes of a terminal. The channel may be nil.
func sendSizes(ctx context.Context, sizes <-chan api.TerminalSize, send func(*api.ExecStreamingInput) error) {
	for {
		select {
		case size, ok := <-sizes:
			if !ok || send(&api.ExecStreamingInput{TTYSize: &size}) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// receive copies the output of the command, and returns its exit code.
func receive(conn *websocket.Conn, s Session) (code int, err error) {
	var text bytes.Buffer
	for {
		_, r, err := conn.NextReader()
		if err == nil {
			text.Reset()
			_, err = text.ReadFrom(r)
		}
		if err != nil {
			return 0, closed(err)
		}
		m, err := execwire.ParseOutput(text.Bytes())
		if err != nil {
			return 0, fmt.Errorf("cannot decode the answer of the engine: %w", err)
		}
		switch {
		case m.Stdout != nil:
			_, _ = s.Stdout.Write(m.Stdout.Data) // see Exec
		case m.Stderr != nil:
			_, _ = s.Stderr.Write(m.Stderr.Data)
		case m.Exited && m.Result != nil:
			return m.Result.ExitCode, nil
		}
	}
}

// closed explains why a session has ended: the engine gave a reason, or it has
// ended too.
func closed(err error) error {
	var reason *websocket.CloseError
	switch {
	case !errors.As(err, &reason):
		return err
	case reason.Code == websocket.CloseAbnormalClosure:
		return io.ErrUnexpectedEOF
	case reason.Text == "":
		return fmt.Errorf("the session was closed without an exit code: %w", err)
	}
	return errors.New(reason.Text)
}
