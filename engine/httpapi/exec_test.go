package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/hashicorp/nomad/api"

	"taskrun/drivers"
	"taskrun/engine/httpapi"
)

// command is a command of a fake driver.
type command func(ctx context.Context, o *drivers.ExecOptions) (*drivers.ExitResult, error)

// serveExec serves a job whose task runs a command on demand.
func serveExec(t testing.TB, c command) (*fixture, *api.Allocation) {
	t.Helper()
	f := serve(t, newJob("job", "batch", newTask("main", "run_for", "1h")))
	f.driver.exec = c
	return f, f.alloc(f.running("main").ID)
}

func TestExec(t *testing.T) {
	t.Parallel()
	f, alloc := serveExec(t, func(_ context.Context, o *drivers.ExecOptions) (*drivers.ExitResult, error) {
		in, err := io.ReadAll(o.Stdin)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(o.Stdout, "%q %v ", o.Command, o.Tty)
		_, _ = o.Stdout.Write(in)
		_, _ = o.Stderr.Write([]byte("oops"))
		return &drivers.ExitResult{ExitCode: 3}, nil
	})
	input := strings.Repeat("\x00\xff input\n", 100_000)
	var stdout, stderr bytes.Buffer
	code, err := f.client.Allocations().Exec(t.Context(), alloc, "main", false, []string{"a", "b>c"},
		strings.NewReader(input), &stdout, &stderr, nil, nil)
	if err != nil || code != 3 {
		t.Errorf("code %d, %v", code, err)
	}
	if want := `["a" "b>c"] false ` + input; stdout.String() != want {
		t.Errorf("stdout has %d bytes, want %d", stdout.Len(), len(want))
	}
	if stderr.String() != "oops" {
		t.Errorf("stderr %q", stderr.String())
	}
}

func TestExecSendsTheTerminalSize(t *testing.T) {
	t.Parallel()
	f, alloc := serveExec(t, func(ctx context.Context, o *drivers.ExecOptions) (*drivers.ExitResult, error) {
		select {
		case size := <-o.Resize:
			fmt.Fprintf(o.Stdout, "%v %dx%d", o.Tty, size.Width, size.Height)
			return &drivers.ExitResult{}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	sizes := make(chan api.TerminalSize, 1)
	sizes <- api.TerminalSize{Width: 80, Height: 24}
	stdin, keep := io.Pipe()
	defer keep.Close()
	var stdout bytes.Buffer
	code, err := f.client.Allocations().Exec(t.Context(), alloc, "main", true, []string{"stty"}, stdin, &stdout, io.Discard, sizes, nil)
	if code != 0 || err != nil || stdout.String() != "true 80x24" {
		t.Errorf("code %d, %v, %q", code, err, stdout.String())
	}
}

func TestExecErrors(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 100)
	f, alloc := serveExec(t, func(context.Context, *drivers.ExecOptions) (*drivers.ExitResult, error) {
		return nil, errors.New("failed to start command: " + long)
	})
	for name, tt := range map[string]struct {
		alloc, query string
		code         int
		reason       string
	}{
		"unknown alloc": {"nope", `task=main&tty=false&command=["a"]`, 1008, `Unknown allocation "nope"`},
		"unknown task":  {alloc.ID, `task=nope&tty=false&command=["a"]`, 1011, "task not found"},
		"no task":       {alloc.ID, `tty=false&command=["a"]`, 1008, "must provide task name"},
		"no command":    {alloc.ID, `task=main&tty=false&command=[]`, 1008, "command is not present"},
		"no array":      {alloc.ID, `task=main&tty=false&command=a`, 1011, "invalid character 'a' looking for beginning of value"},
		"tty":           {alloc.ID, `task=main&tty=x&command=["a"]`, 1011, `strconv.ParseBool: parsing "x": invalid syntax`},
		"no program":    {alloc.ID, `task=main&tty=false&command=["a"]`, 1011, "failed to start command: " + strings.Repeat("é", 49)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := f.dial("/v1/client/allocation/" + tt.alloc + "/exec?" + tt.query)
			_, _, err := conn.ReadMessage()
			closed, ok := errors.AsType[*websocket.CloseError](err)
			if !ok || closed.Code != tt.code || closed.Text != tt.reason {
				t.Errorf("got %v, want %d %s", err, tt.code, tt.reason)
			}
		})
	}
}

// dial opens a websocket.
func (f *fixture) dial(path string) *websocket.Conn {
	f.Helper()
	before, query, _ := strings.Cut(path, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		f.Fatal(err)
	}
	dialer := websocket.Dialer{NetDialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", f.path)
	}}
	conn, resp, err := dialer.DialContext(f.Context(), "ws://127.0.0.1"+before+"?"+values.Encode(), nil)
	if err != nil {
		f.Fatal(err)
	}
	_ = resp.Body.Close()
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = conn.Close() })
	return conn
}

// The kind of a terminal is that of the client, if it has one.
func TestExecOnATerminal(t *testing.T) {
	t.Parallel()
	opened := make(chan string, 1)
	f, alloc := serveExec(t, func(_ context.Context, o *drivers.ExecOptions) (*drivers.ExitResult, error) {
		opened <- fmt.Sprintf("%t %q", o.Tty, o.Term)
		return &drivers.ExitResult{}, nil
	})
	for query, want := range map[string]string{
		"tty=true&term=xterm": `true "xterm"`, "tty=true": `true ""`, "tty=false&term=xterm": `false ""`, "term=xterm": `false ""`,
	} {
		conn := f.dial("/v1/client/allocation/" + alloc.ID + `/exec?task=main&command=["a"]&` + query)
		if got := <-opened; got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
		_ = conn.Close()
	}
}

const sleepPath = `/exec?task=main&tty=false&command=["sleep"]`

// sleep is a command that runs until it is killed, and reports both.
func sleep(started, killed chan<- struct{}) command {
	return func(ctx context.Context, _ *drivers.ExecOptions) (*drivers.ExitResult, error) {
		started <- struct{}{}
		<-ctx.Done()
		killed <- struct{}{}
		return nil, ctx.Err()
	}
}

func (f *fixture) receive(ch <-chan struct{}, what string) {
	f.Helper()
	select {
	case <-ch:
	case <-time.After(patience):
		f.Fatal(what)
	}
}

func TestLostClientKillsItsCommand(t *testing.T) {
	t.Parallel()
	started, killed := make(chan struct{}, 1), make(chan struct{}, 1)
	f, alloc := serveExec(t, sleep(started, killed))
	for name, vanish := range map[string]func(*websocket.Conn) error{
		"without a word":     func(c *websocket.Conn) error { return c.NetConn().Close() },
		"with a close frame": func(c *websocket.Conn) error { return c.WriteMessage(websocket.CloseMessage, nil) },
		"with nonsense":      func(c *websocket.Conn) error { return c.WriteMessage(websocket.TextMessage, []byte("{")) },
		"with a flood": func(c *websocket.Conn) error {
			_ = c.WriteMessage(websocket.TextMessage, make([]byte, 2<<20)) // may fail: the connection is cut
			return nil
		},
	} {
		conn := f.dial("/v1/client/allocation/" + alloc.ID + sleepPath)
		f.receive(started, "it did not start")
		if err := vanish(conn); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		f.receive(killed, name+": the command goes on")
	}
}

// A client that is gone is detected even if much of its input is unread.
func TestLostClientWithUnreadInput(t *testing.T) {
	t.Parallel()
	started, killed := make(chan struct{}, 1), make(chan struct{}, 1)
	f, alloc := serveExec(t, sleep(started, killed))
	conn := f.dial("/v1/client/allocation/" + alloc.ID + sleepPath)
	f.receive(started, "it did not start")
	input, err := json.Marshal(&api.ExecStreamingInput{Stdin: &api.ExecStreamingIOOperation{Data: make([]byte, 64<<10)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	for err == nil { // until the server accepts no more
		err = conn.WriteMessage(websocket.TextMessage, input)
	}
	_ = conn.Close()
	f.receive(killed, "the command goes on")
}

func TestServerEndsSessions(t *testing.T) {
	t.Parallel()
	started, killed := make(chan struct{}, 1), make(chan struct{}, 1)
	f, alloc := serveExec(t, sleep(started, killed))
	conn := f.dial("/v1/client/allocation/" + alloc.ID + sleepPath)
	f.receive(started, "it did not start")
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		ended <- f.server.Shutdown(ctx)
	}()
	f.receive(killed, "the command goes on")
	_, _, err := conn.ReadMessage()
	if closed, ok := errors.AsType[*websocket.CloseError](err); !ok || closed.Text != "the run has ended" {
		t.Errorf("the session ended with %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A client that does not read must not delay the end of the server.
func TestServerEndsSessionsOfClientsThatDoNotRead(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 1)
	f, alloc := serveExec(t, func(_ context.Context, o *drivers.ExecOptions) (*drivers.ExitResult, error) {
		started <- struct{}{}
		for {
			if _, err := o.Stdout.Write(make([]byte, 64<<10)); err != nil {
				return nil, err
			}
		}
	})
	f.dial("/v1/client/allocation/" + alloc.ID + sleepPath)
	f.receive(started, "it did not start")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := f.server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

func TestExecFromAWebPageIsRefused(t *testing.T) {
	t.Parallel()
	f, alloc := serveExec(t, func(context.Context, *drivers.ExecOptions) (*drivers.ExitResult, error) {
		t.Error("it ran")
		return &drivers.ExitResult{}, nil
	})
	resp := f.do("GET", "/v1/client/allocation/"+alloc.ID+"/exec?task=main&command=%5B%22a%22%5D", nil,
		"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13",
		"Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==", "Origin", "http://127.0.0.1")
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// BenchmarkExecOutput measures the output of a command that Nomad's client
// receives.
func BenchmarkExecOutput(b *testing.B) {
	chunk := make([]byte, 64<<10)
	f, alloc := serveExec(b, func(_ context.Context, o *drivers.ExecOptions) (*drivers.ExitResult, error) {
		for range b.N {
			if _, err := o.Stdout.Write(chunk); err != nil {
				return nil, err
			}
		}
		return &drivers.ExitResult{}, nil
	})
	b.SetBytes(int64(len(chunk)))
	b.ResetTimer()
	code, err := f.client.Allocations().Exec(b.Context(), alloc, "main", false, []string{"cat"}, strings.NewReader(""), io.Discard, io.Discard, nil, nil)
	if code != 0 || err != nil {
		b.Fatal(code, err)
	}
}

// BenchmarkExec measures a command that does nothing, from the connection to
// its exit code.
func BenchmarkExec(b *testing.B) {
	f, alloc := serveExec(b, func(context.Context, *drivers.ExecOptions) (*drivers.ExitResult, error) {
		return &drivers.ExitResult{}, nil
	})
	for b.Loop() {
		code, err := f.client.Allocations().Exec(b.Context(), alloc, "main", false, []string{"true"}, strings.NewReader(""), io.Discard, io.Discard, nil, nil)
		if code != 0 || err != nil {
			b.Fatal(code, err)
		}
	}
}

// Shutdown reports a command that does not end, and Serve why it cannot listen.
func TestServerCannotEnd(t *testing.T) {
	t.Parallel()
	started, free := make(chan struct{}, 1), make(chan struct{})
	f, alloc := serveExec(t, func(context.Context, *drivers.ExecOptions) (*drivers.ExitResult, error) {
		started <- struct{}{}
		<-free
		return &drivers.ExitResult{}, nil
	})
	f.dial("/v1/client/allocation/" + alloc.ID + sleepPath)
	f.receive(started, "it did not start")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no patience"))
	if err := f.server.Shutdown(ctx); err == nil || !strings.Contains(err.Error(), "no patience") {
		t.Errorf("it ended: %v", err)
	}
	close(free)
	other := serve(t)
	l, err := httpapi.ListenTCP("127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := httpapi.ListenTCP(l.Addr().String(), ""); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("listened twice: %v", err)
	}
	_ = l.Close()
	if err := other.server.Serve(l); !errors.Is(err, net.ErrClosed) {
		t.Errorf("served a closed listener: %v", err)
	}
}
