package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"
	"github.com/hashicorp/nomad/api"
)

// execServer is a server with sessions, each played by a function.
type execServer struct {
	play  func(*websocket.Conn)
	code  int    // status of a refused session; 0: it is played
	why   string // reason of the refusal
	asked chan *url.URL
	ended chan struct{} // a session has ended
}

func (s *execServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/v1/node/") {
		http.NotFound(w, r) // a cluster's nodes are not reachable
		return
	}
	s.asked <- r.URL
	if s.code != 0 {
		w.WriteHeader(s.code)
		_, _ = io.WriteString(w, s.why)
		return
	}
	conn, err := new(websocket.Upgrader).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer close(s.ended)
	defer conn.Close()
	s.play(conn)
}

// task returns a task of the server: an engine at a socket, or a cluster.
func (s *execServer) task(t *testing.T, local bool) *Task {
	t.Helper()
	s.asked, s.ended = make(chan *url.URL, 1), make(chan struct{})
	server := httptest.NewUnstartedServer(s)
	dir, err := os.MkdirTemp("", "tr") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var remote *Server
	if local {
		socket := filepath.Join(dir, "a run.sock")
		if server.Listener, err = net.Listen("unix", socket); err != nil {
			t.Fatal(err)
		}
		remote, err = Local(socket)
		server.Start()
	} else {
		server.Start()
		remote, err = Remote(Cluster{Address: server.URL})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return onTask(remote)
}

// input reads input until its end, and returns it with the length of the
// longest piece.
func input(conn *websocket.Conn) (text string, longest int) {
	for {
		var m api.ExecStreamingInput
		if conn.ReadJSON(&m) != nil || m.Stdin == nil || m.Stdin.Close {
			return text, longest
		}
		text += string(m.Stdin.Data)
		longest = max(longest, len(m.Stdin.Data))
	}
}

func send(conn *websocket.Conn, messages ...api.ExecStreamingOutput) {
	for _, m := range messages {
		_ = conn.WriteJSON(m)
	}
}

var (
	toStdout = api.ExecStreamingOutput{Stdout: &api.ExecStreamingIOOperation{Data: []byte("out")}}
	toStderr = api.ExecStreamingOutput{Stderr: &api.ExecStreamingIOOperation{Data: []byte("err")}}
	atEnd    = api.ExecStreamingOutput{Exited: true, Result: &api.ExecStreamingExitResult{ExitCode: 3}}
)

// A command and an action run in a task of an engine or a cluster with the
// user's streams, and return their exit code.
func TestExec(t *testing.T) {
	t.Parallel()
	stdin := strings.Repeat("0123456789abcdef", 5<<10)
	for name, tt := range map[string]struct {
		local   bool
		session Session
		path    string
		query   url.Values
	}{
		"a command here": {
			true,
			Session{Command: []string{"sh", "-c", "x y"}},
			"/v1/client/allocation/1/exec",
			url.Values{"namespace": {"shop"}, "task": {"t"}, "tty": {"false"}, "command": {`["sh","-c","x y"]`}},
		},
		"a command with a terminal here": {
			true,
			Session{Command: []string{"sh"}, Tty: true, Term: "xterm"},
			"/v1/client/allocation/1/exec",
			url.Values{"namespace": {"shop"}, "task": {"t"}, "tty": {"true"}, "term": {"xterm"}, "command": {`["sh"]`}},
		},
		"a terminal of no kind here": {
			true, Session{Command: []string{"sh"}, Tty: true}, "/v1/client/allocation/1/exec", url.Values{"namespace": {"shop"}, "task": {"t"}, "tty": {"true"}, "command": {`["sh"]`}},
		},
		"no terminal of a kind here": {
			true, Session{Command: []string{"sh"}, Term: "xterm"}, "/v1/client/allocation/1/exec", url.Values{"namespace": {"shop"}, "task": {"t"}, "tty": {"false"}, "command": {`["sh"]`}},
		},
		"an action here": {
			true, Session{Action: "greet"}, "/v1/job/web/action", url.Values{"namespace": {"shop"}, "task": {"t"}, "tty": {"false"}, "action": {"greet"}, "allocID": {"1"}},
		},
		"a command in a cluster": {
			false, Session{Command: []string{"sh"}, Tty: true}, "/v1/client/allocation/1/exec", url.Values{"task": {"t"}, "tty": {"true"}, "command": {`["sh"]`}, "namespace": {"shop"}},
		},
		"an action in a cluster": {
			false, Session{Action: "greet"}, "/v1/job/web/action", url.Values{"task": {"t"}, "tty": {"false"}, "action": {"greet"}, "allocID": {"1"}, "command": {"null"}, "group": {"g"}, "namespace": {"shop"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &execServer{play: func(conn *websocket.Conn) {
				text, longest := input(conn)
				if text != stdin || longest > stdinPiece {
					t.Errorf("%d bytes of input, the longest piece has %d", len(text), longest)
				}
				send(conn, toStdout, toStderr, api.ExecStreamingOutput{}, api.ExecStreamingOutput{Exited: true}, toStdout, atEnd)
			}}
			var stdout, stderr strings.Builder
			tt.session.Stdin, tt.session.Stdout, tt.session.Stderr = strings.NewReader(stdin), &stdout, &stderr
			task := s.task(t, tt.local)
			code, err := task.Exec(t.Context(), tt.session)
			if code != 3 || err != nil || tt.local && (stdout.String() != "outout" || stderr.String() != "err") {
				t.Errorf("code %d, %v, stdout %q, stderr %q", code, err, &stdout, &stderr)
			}
			asked := <-s.asked
			query := asked.Query()
			query.Del("region")
			if diff := cmp.Diff(tt.query, query); diff != "" || asked.Path != tt.path {
				t.Errorf("asked for %s: %s", asked.Path, diff)
			}
		})
	}
}

// The sizes of the user's terminal reach the command.
func TestExecSizes(t *testing.T) {
	t.Parallel()
	sizes := make(chan api.TerminalSize, 2)
	sizes <- api.TerminalSize{Height: 24, Width: 80}
	sizes <- api.TerminalSize{Height: 50, Width: 120}
	close(sizes)
	var got []api.TerminalSize
	s := &execServer{play: func(conn *websocket.Conn) {
		for len(got) < 2 {
			var m api.ExecStreamingInput
			if conn.ReadJSON(&m) != nil {
				return
			}
			if m.TTYSize != nil {
				got = append(got, *m.TTYSize)
			}
		}
		send(conn, atEnd)
	}}
	task := s.task(t, true)
	code, err := task.Exec(t.Context(), Session{Command: []string{"sh"}, Tty: true, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Sizes: sizes})
	if code != 3 || err != nil {
		t.Errorf("code %d, %v", code, err)
	}
	if want := []api.TerminalSize{{Height: 24, Width: 80}, {Height: 50, Width: 120}}; !cmp.Equal(got, want) {
		t.Errorf("sizes %v", got)
	}
}

// A failed session has a reason: the engine's words, or that it is gone.
func TestExecFails(t *testing.T) {
	t.Parallel()
	ends := func(code int, reason string) func(*websocket.Conn) {
		return func(conn *websocket.Conn) {
			input(conn)
			_ = conn.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason))
		}
	}
	for name, tt := range map[string]struct {
		server execServer
		err    string
	}{
		"it is refused":                {execServer{code: 404, why: "no such task\n"}, "it answered 404: no such task"},
		"it is refused without a word": {execServer{code: 404}, "it answered 404 Not Found"},
		"it is closed with a reason":   {execServer{play: ends(4000, "the task has ended")}, "the task has ended"},
		"it is closed without one":     {execServer{play: ends(websocket.CloseNormalClosure, "")}, "the session was closed without an exit code: websocket: close 1000 (normal)"},
		"the engine is gone":           {execServer{play: func(conn *websocket.Conn) { input(conn) }}, ErrGone.Error()},
		"the engine talks nonsense": {execServer{play: func(conn *websocket.Conn) {
			input(conn)
			_ = conn.WriteMessage(websocket.TextMessage, []byte("nonsense"))
			input(conn)
		}}, "cannot decode the answer of the engine: invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := tt.server.task(t, true)
			session := Session{Command: []string{"sh"}, Stdin: strings.NewReader("x"), Stdout: io.Discard, Stderr: io.Discard}
			if _, err := task.Exec(t.Context(), session); err == nil || !strings.HasPrefix(err.Error(), `exec in task "t": `+tt.err) {
				t.Errorf("error %v, want %s", err, tt.err)
			}
		})
	}
	t.Run("there is no engine", func(t *testing.T) {
		t.Parallel()
		s, err := Local(filepath.Join(t.TempDir(), "s"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := onTask(s).Exec(t.Context(), Session{Action: "greet"}); !errors.Is(err, ErrGone) || !strings.HasPrefix(err.Error(), `action "greet" in task "t": `) {
			t.Errorf("error %v", err)
		}
	})
}

// A session ends with the context or a read error of the input, and its
// connection is closed.
func TestExecEnds(t *testing.T) {
	t.Parallel()
	enough, broken := errors.New("enough"), errors.New("broken")
	for name, tt := range map[string]struct {
		stdin io.Reader
		err   string
	}{
		"with the context":          {strings.NewReader(""), "enough"},
		"when input cannot be read": {iotest.ErrReader(broken), `exec in task "t": failed to send input: broken`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			s := &execServer{play: func(conn *websocket.Conn) {
				if name == "with the context" {
					cancel(enough)
				}
				for {
					if _, _, err := conn.ReadMessage(); err != nil {
						return
					}
				}
			}}
			task := s.task(t, true)
			_, err := task.Exec(ctx, Session{Command: []string{"sh"}, Stdin: tt.stdin, Stdout: io.Discard, Stderr: io.Discard})
			if err == nil || err.Error() != tt.err {
				t.Errorf("error %v, want %s", err, tt.err)
			}
			<-s.ended
		})
	}
}

// Requests to a cluster carry the user's settings, and use the named
// certificate authority.
func TestRemoteRequests(t *testing.T) {
	t.Parallel()
	var asked *http.Request
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r
		_ = json.NewEncoder(w).Encode(api.Job{ID: new("web")})
	}))
	t.Cleanup(server.Close)
	c := Cluster{Address: server.URL, Token: "s3cr3t", Region: "eu", Namespace: "shop", HTTPAuth: "user:pass:word", TLS: api.TLSConfig{Insecure: true}}
	s, err := Remote(c)
	if err != nil || s.Namespace() != "shop" || s.Address != server.URL {
		t.Fatalf("%+v, %v", s, err)
	}
	if _, _, err := s.Info(t.Context(), "web", 0); err != nil {
		t.Fatal(err)
	}
	user, password, _ := asked.BasicAuth()
	if q := asked.URL.Query(); q.Get("region") != "eu" || q.Get("namespace") != "shop" || asked.Header.Get("X-Nomad-Token") != "s3cr3t" || user != "user" || password != "pass:word" {
		t.Errorf("asked %v with %v", asked.URL, asked.Header)
	}
	c.TLS = api.TLSConfig{CACert: filepath.Join(t.TempDir(), "none.pem")}
	if _, err := Remote(c); err == nil || !strings.HasPrefix(err.Error(), "cannot connect to "+server.URL) {
		t.Errorf("error %v", err)
	}
}
