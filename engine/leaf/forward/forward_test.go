package forward_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"taskrun/engine/leaf/forward"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = time.Minute

// listen listens at a free port and hands each connection to a function.
func listen(t *testing.T, serve func(*net.TCPConn)) net.Addr {
	t.Helper()
	l := listener(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serve(conn.(*net.TCPConn))
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr()
}

func listener(t *testing.T) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func dial(t *testing.T, to net.Addr) *net.TCPConn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	t.Cleanup(func() { _ = conn.Close() })
	return conn.(*net.TCPConn)
}

func leadingTo(at net.Addr) forward.Dial {
	return func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", at.String())
	}
}

// The end of one direction leaves the other one open.
func TestBothDirections(t *testing.T) {
	t.Parallel()
	server := listen(t, func(conn *net.TCPConn) {
		defer conn.Close()
		got, _ := io.ReadAll(conn)
		_, _ = conn.Write(bytes.ToUpper(got))
	})
	f := forward.Start(listener(t), leadingTo(server))
	defer f.Stop()
	for range 3 {
		conn := dial(t, f.Addr())
		if _, err := conn.Write([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		_ = conn.CloseWrite()
		if got, err := io.ReadAll(conn); string(got) != "HELLO" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

// Neither does the end of the other one.
func TestServerEndsFirst(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	server := listen(t, func(conn *net.TCPConn) {
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		_ = conn.CloseWrite()
		text, _ := io.ReadAll(conn)
		got <- string(text)
	})
	f := forward.Start(listener(t), leadingTo(server))
	defer f.Stop()
	conn := dial(t, f.Addr())
	if text, err := io.ReadAll(conn); len(text) > 0 || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
	for range 1000 {
		runtime.Gosched() // time to close too much
	}
	if _, err := conn.Write([]byte("hello")); err != nil {
		t.Error(err)
	}
	_ = conn.CloseWrite()
	if text := <-got; text != "hello" {
		t.Errorf("the server got %q", text)
	}
}

func TestNobodyAccepts(t *testing.T) {
	t.Parallel()
	f := forward.Start(listener(t), func(context.Context) (net.Conn, error) { return nil, errors.New("nobody") })
	defer f.Stop()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", f.Addr().String())
	if err != nil {
		return // it was reset before it was known to be open
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Errorf("read %d bytes, %v", n, err)
	}
}

// Stop returns after everything that uses the dial function.
func TestStopWaits(t *testing.T) {
	t.Parallel()
	dialing := make(chan struct{})
	var ended atomic.Bool
	f := forward.Start(listener(t), func(ctx context.Context) (net.Conn, error) {
		close(dialing)
		<-ctx.Done()
		for range 1000 {
			runtime.Gosched()
		}
		ended.Store(true)
		return nil, ctx.Err()
	})
	dial(t, f.Addr())
	<-dialing
	if f.Stop(); !ended.Load() {
		t.Error("it has not waited")
	}
}

func TestStopBreaksConnections(t *testing.T) {
	t.Parallel()
	arrived := make(chan *net.TCPConn, 1)
	server := listen(t, func(conn *net.TCPConn) { arrived <- conn })
	f := forward.Start(listener(t), leadingTo(server))
	conn := dial(t, f.Addr())
	far := <-arrived
	defer far.Close()
	f.Stop()
	for _, c := range []*net.TCPConn{conn, far} {
		_ = c.SetDeadline(time.Now().Add(patience))
		var timeout net.Error
		if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil || errors.As(err, &timeout) && timeout.Timeout() {
			t.Errorf("read %d bytes, %v", n, err)
		}
	}
	if c, err := new(net.Dialer).DialContext(t.Context(), "tcp", f.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("it still listens")
	}
}

func BenchmarkForward(b *testing.B) {
	const size = 1 << 20
	l, err := new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		}
	}()
	entry, err := new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	f := forward.Start(entry, leadingTo(l.Addr()))
	defer f.Stop()
	conn, err := new(net.Dialer).DialContext(b.Context(), "tcp", f.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	block := make([]byte, size)
	b.SetBytes(size)
	for b.Loop() {
		if _, err := conn.Write(block); err != nil {
			b.Fatal(err)
		}
	}
}
