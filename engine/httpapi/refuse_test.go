package httpapi

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// arrivals is a listener whose connections come from the test.
type arrivals chan net.Conn

func (a arrivals) Accept() (net.Conn, error) {
	if conn, ok := <-a; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}
func (arrivals) Close() error   { return nil }
func (arrivals) Addr() net.Addr { return &net.UnixAddr{} }

// A connection over the limit gets its response after its request, even if both
// sides are slow: a client that gets a response before its request sees a
// broken pipe. A connection without a request is cut.
func TestRefusalWaitsForTheRequest(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		asks, reads time.Duration // delays after connecting, and after the request
		answered    bool
	}{
		"at once":     {0, 0, true},
		"slow":        {refusalTime - time.Millisecond, refusalTime - time.Millisecond, true},
		"reads late":  {0, refusalTime + time.Millisecond, false},
		"never asks":  {time.Hour, 0, false},
		"is too late": {refusalTime + refusalTime + time.Millisecond, 0, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := make(arrivals)
			l := withLimit(a, 0)
			accepted := make(chan error, 1)
			go func() {
				_, err := l.Accept()
				accepted <- err
			}()
			server, client := net.Pipe()
			defer client.Close()
			a <- server
			<-time.After(tt.asks)
			_, err := io.WriteString(client, "GET /v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n")
			if err == nil {
				<-time.After(tt.reads)
				var answer *http.Response
				if answer, err = http.ReadResponse(bufio.NewReader(client), nil); err == nil {
					answer.Body.Close()
					if answer.StatusCode != http.StatusTooManyRequests {
						t.Errorf("%s: %s", name, answer.Status)
					}
				}
			}
			if (err == nil) != tt.answered {
				t.Errorf("%s: error %v", name, err)
			}
			close(a)
			if err := <-accepted; !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: it was accepted: %v", name, err)
			}
			l.refused.Wait()
		})
	}
}
