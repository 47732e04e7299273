package sessions

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"taskrun/drivers"
	"taskrun/engine/httpapi/rest"
)

// The close message says how a command has ended: for an error its reason, as far as
// there is room, and for a session that was canceled why it was.
func TestEndOfASession(t *testing.T) {
	t.Parallel()
	stopping, broken := errors.New("the engine stops"), errors.New("broken")
	for name, tt := range map[string]struct {
		canceled bool
		err      error // of the command
		code     int
		reason   string
	}{
		"well":                   {false, nil, websocket.CloseNormalClosure, ""},
		"with an error":          {false, broken, websocket.CloseInternalServerErr, "broken"},
		"refused":                {false, rest.Fail(http.StatusBadRequest, "no"), websocket.ClosePolicyViolation, "no"},
		"with a long reason":     {false, errors.New(strings.Repeat("x", 122) + "é"), websocket.CloseInternalServerErr, strings.Repeat("x", 122)},
		"with a fitting one":     {false, errors.New(strings.Repeat("x", 123)), websocket.CloseInternalServerErr, strings.Repeat("x", 123)},
		"canceled":               {true, nil, websocket.CloseInternalServerErr, "the engine stops"},
		"killed":                 {true, context.Canceled, websocket.CloseInternalServerErr, "the engine stops"},
		"canceled, but broken":   {true, broken, websocket.CloseInternalServerErr, "broken"},
		"canceled all by itself": {false, context.Canceled, websocket.CloseInternalServerErr, "context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ended := make(chan struct{})
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				defer close(ended)
				conn, err := upgrader.Upgrade(w, r, nil)
				if err != nil {
					t.Error(err)
					return
				}
				ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
				defer cancel(nil)
				c := newSession(ctx, conn)
				c.run(func() error {
					if tt.canceled {
						cancel(stopping)
						<-c.ctx.Done()
					}
					return tt.err
				})
				if c.ctx.Err() == nil || conn.WriteMessage(websocket.TextMessage, nil) == nil {
					t.Error("there is something left of it")
				}
				if _, err := c.stdin.Read(make([]byte, 1)); !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("its input ends with %v", err)
				}
			}))
			defer s.Close()
			conn, resp, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(s.URL, "http"), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			_, _, err = conn.ReadMessage()
			if end, ok := errors.AsType[*websocket.CloseError](err); !ok || end.Code != tt.code || end.Text != tt.reason {
				t.Errorf("it is closed with %v, want %d (%s)", err, tt.code, tt.reason)
			}
			_ = conn.Close()
			<-ended
		})
	}
}

// pipes is a listener for connections in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

// A client that does not run for some seconds still learns how its command has
// ended, unless the server ends, too.
func TestLateClient(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		late     time.Duration
		stopping bool
		learns   bool
	}{
		"late":                         {5 * time.Second, false, true},
		"too late":                     {15 * time.Second, false, false},
		"in time for the server's end": {time.Second / 2, true, true},
		"late for the server's end":    {5 * time.Second, true, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			incoming := make(pipes)
			ctx, stop := context.WithCancel(t.Context())
			s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				conn, err := upgrader.Upgrade(w, r, nil)
				if err != nil {
					t.Error(err)
					return
				}
				newSession(ctx, conn).run(func() error { return nil })
			})}
			go func() { _ = s.Serve(incoming) }()
			dialer := websocket.Dialer{NetDialContext: func(context.Context, string, string) (net.Conn, error) {
				ours, theirs := net.Pipe()
				incoming <- theirs
				return ours, nil
			}}
			conn, resp, err := dialer.DialContext(t.Context(), "ws://session/", nil)
			if err != nil {
				t.Fatal(err)
			}
			if tt.stopping {
				stop()
			}
			<-time.After(tt.late)
			_, _, err = conn.ReadMessage()
			if websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseInternalServerErr) != tt.learns {
				t.Errorf("%s: the client reads %v", name, err)
			}
			_, _ = conn.Close(), resp.Body.Close()
			stop()
			close(incoming)
			_ = s.Close()
		})
	}
}

// A command whose output cannot be sent learns it.
func TestUnsentOutput(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	for _, fail := range []error{nil, gone} {
		c := &client{fail: fail}
		s := newStreams(c.send)
		d := commands{run: func(_ context.Context, o *drivers.ExecOptions) (*drivers.ExitResult, error) {
			n, err := o.Stderr.Write([]byte("oops"))
			if !errors.Is(err, fail) || n != map[bool]int{true: 4}[fail == nil] {
				t.Errorf("%d bytes were sent, %v", n, err)
			}
			return &drivers.ExitResult{}, nil
		}}
		err := s.run(t.Context(), &drivers.ExecOptions{}, func(ctx context.Context, o *drivers.ExecOptions) (*drivers.ExitResult, error) {
			return d.ExecTaskStreaming(ctx, "id", o)
		})
		if !errors.Is(err, fail) || err != nil && err.Error() != "cannot send the end of the command to the client: gone" {
			t.Errorf("the session ended with %v", err)
		}
	}
}
