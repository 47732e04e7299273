package httpapi

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"taskrun/engine/httpapi/rest"

	"github.com/gorilla/websocket"
)

const (
	token     = "SESAME"
	tokenLine = "X-Nomad-Token: " + token + "\r\n"
)

// guardedPort serves a job at a port with a token, in virtual time.
func guardedPort(t *testing.T, play func(s *Server, p *pipes)) {
	t.Helper()
	served(t, func(s *Server, _ *pipes) {
		p := &pipes{accept: make(chan net.Conn), closed: make(chan struct{})}
		go func() { _ = s.Serve(&tokenListener{p, token}) }() // until served ends the server
		play(s, p)
	})
}

// A connection that does not send the token is soon cut, whatever it sends and
// however slowly it reads.
func TestStrangersHaveShortLives(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":           "",
		"half a header":     "GET /v1/jobs HTTP/1.1\r\n" + hostLine + "X: ",
		"no body":           "PUT /v1/jobs HTTP/1.1\r\n" + hostLine + "Content-Length: 100\r\n\r\n{",
		"no chunks":         "PUT /v1/jobs HTTP/1.1\r\n" + hostLine + "Transfer-Encoding: chunked\r\n\r\n",
		"a path of nothing": "PUT /nothing HTTP/1.1\r\n" + hostLine + "Content-Length: 100\r\n\r\n{",
		"a wrong token":     "GET /v1/jobs HTTP/1.1\r\n" + hostLine + "X-Nomad-Token: x\r\n\r\n",
		"many requests":     strings.Repeat("GET /v1/jobs HTTP/1.1\r\n"+hostLine+"\r\n", 100),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			guardedPort(t, func(_ *Server, p *pipes) {
				silent, reading := p.dial(text), p.dial(text)
				began := time.Now()
				answer, _ := io.ReadAll(reading)
				if took := time.Since(began); took > strangerTime+time.Second {
					t.Errorf("cut off after %v", took)
				}
				if strings.Contains(string(answer), " 200 ") || strings.Count(string(answer), "HTTP/1.1") > 1 {
					t.Errorf("it gets %q", answer)
				}
				<-time.After(time.Until(began.Add(strangerTime + time.Second)))
				synctest.Wait()
				if n, err := io.Copy(io.Discard, silent); n > 0 || err != nil {
					t.Errorf("the silent one is still there: %d bytes, %v", n, err)
				}
			})
		})
	}
}

// A header that arrives byte by byte gets no more time.
func TestStrangersThatDrip(t *testing.T) {
	t.Parallel()
	guardedPort(t, func(_ *Server, p *pipes) {
		began := time.Now()
		conn := p.dial("GET /v1/jobs HTTP/1.1\r\nX: ")
		var err error
		for err == nil {
			<-time.After(time.Second)
			_, err = io.WriteString(conn, "x")
		}
		if took := time.Since(began); took > strangerTime+2*time.Second {
			t.Errorf("cut off after %v", took)
		}
	})
}

// Requests with the token have the same time limits as at the socket.
func TestTokenRemovesDeadlines(t *testing.T) {
	t.Parallel()
	guardedPort(t, func(_ *Server, p *pipes) {
		conn := p.dial("GET /v1/agent/self HTTP/1.1\r\n" + hostLine + tokenLine + "\r\n")
		answers := bufio.NewReader(conn)
		check := func(what string) {
			t.Helper()
			resp, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
				t.Errorf("%s: status %d, %v", what, resp.StatusCode, err)
			}
			_ = resp.Body.Close()
		}
		check("a first request")
		<-time.After(strangerTime + time.Second)
		send := func(text string) { go func() { _, _ = io.WriteString(conn, text) }() }
		send("GET /v1/node/pools?index=1000&wait=60s HTTP/1.1\r\n" + hostLine + tokenLine + "\r\n")
		check("a blocking query")
		send("PUT /v1/search HTTP/1.1\r\n" + hostLine + tokenLine + "Content-Length: 17\r\n\r\n{")
		<-time.After(rest.BodyTime - time.Second)
		send(`"Context":"all"}`)
		check("a slow body")

		stream := bufio.NewReader(p.dial("GET /v1/event/stream HTTP/1.1\r\n" + hostLine + tokenLine + "\r\n"))
		for began := time.Now(); time.Since(began) < time.Minute; {
			if _, err := stream.ReadString('\n'); err != nil {
				t.Fatalf("an event stream: %v", err)
			}
		}
	})
}

// A session with the token lasts as long as its command.
func TestSessionsAtThePort(t *testing.T) {
	t.Parallel()
	guardedPort(t, func(s *Server, p *pipes) {
		synctest.Wait()
		alloc := s.engine.Allocs()[0].ID
		dialer := websocket.Dialer{NetDialContext: func(context.Context, string, string) (net.Conn, error) { return p.dial(""), nil }}
		conn, resp, err := dialer.DialContext(t.Context(), "ws://127.0.0.1/v1/client/allocation/"+alloc+"/exec?task=other&command=%5B%22cat%22%5D",
			http.Header{"X-Nomad-Token": {token}})
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		defer conn.Close()
		for range 3 {
			<-time.After(strangerTime + time.Second)
			if err := conn.WriteMessage(websocket.TextMessage, []byte(`{"stdin":{"data":"aGVsbG8="}}`)); err != nil {
				t.Fatal(err)
			}
			if _, answer, err := conn.ReadMessage(); err != nil || !strings.Contains(string(answer), "aGVsbG8=") {
				t.Fatalf("%s, %v", answer, err)
			}
		}
	})
}
