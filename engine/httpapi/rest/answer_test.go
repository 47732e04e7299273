package rest

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// one is a listener with one connection.
type one chan net.Conn

func (o one) Accept() (net.Conn, error) {
	if conn, ok := <-o; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}
func (one) Close() error   { return nil }
func (one) Addr() net.Addr { return &net.UnixAddr{} }

// A response that is not read counts only as long as it is in memory.
func TestUnreadResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answers := NewAnswers()
		server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := answers.Request(w, r, "").JSON(http.StatusOK, strings.Repeat("x", 64<<10)); err != nil {
				t.Error(err)
			}
		})}
		conns, ended := make(one, 1), make(chan struct{})
		go func() {
			defer close(ended)
			_ = server.Serve(conns)
		}()
		far, near := net.Pipe()
		conns <- far
		go func() { _, _ = io.WriteString(near, "GET / HTTP/1.1\r\nHost: x\r\n\r\n") }()
		if _, err := io.ReadFull(bufio.NewReaderSize(near, 16), make([]byte, 12)); err != nil {
			t.Fatal(err)
		}
		if answers.unread.Load() == 0 {
			t.Error("it is not counted")
		}
		<-time.After(ReadTime + time.Second)
		synctest.Wait()
		if unread := answers.unread.Load(); unread != 0 {
			t.Errorf("%d bytes wait", unread)
		}
		close(conns)
		_ = server.Close()
		<-ended
	})
}

// Unread responses are limited; requests beyond the limit get an error.
func TestManyUnreadResponses(t *testing.T) {
	t.Parallel()
	answers := NewAnswers()
	answers.unread.Store(maxUnread)
	r := answers.Request(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), "")
	if err := r.JSON(http.StatusOK, "x"); StatusOf(err) != http.StatusServiceUnavailable {
		t.Errorf("error %v", err)
	}
	if answers.unread.Load() != maxUnread {
		t.Error("it is counted")
	}
}
