// Package forward hands TCP connections on from a listener.
package forward

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// maxConns is how many connections a forward carries at a time. More wait
	// in the backlog of the listener.
	maxConns = 1024
	// acceptPause is how long a forward waits after a failure to accept a
	// connection, such as a lack of file descriptors.
	acceptPause = 200 * time.Millisecond
)

// Dial opens a connection to where a forward leads.
type Dial func(context.Context) (net.Conn, error)

// Forward hands connections on until it is stopped.
type Forward struct {
	listener net.Listener
	dial     Dial
	ctx      context.Context // of all that it does
	cancel   context.CancelFunc
	conns    chan struct{} // holds a token for each connection
	running  sync.WaitGroup
}

// Start hands on the connections of a listener, which the forward owns. The
// caller must call Stop.
func Start(l net.Listener, dial Dial) *Forward {
	f := &Forward{listener: l, dial: dial, conns: make(chan struct{}, maxConns)}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.running.Go(f.accept)
	return f
}

// Addr returns the address of the listener.
func (f *Forward) Addr() net.Addr { return f.listener.Addr() }

// Stop closes the listener and all connections.
func (f *Forward) Stop() {
	f.cancel()
	_ = f.listener.Close()
	f.running.Wait()
}

func (f *Forward) accept() {
	for {
		select {
		case f.conns <- struct{}{}:
		case <-f.ctx.Done():
			return
		}
		conn, err := f.listener.Accept()
		if err == nil {
			f.running.Go(func() {
				defer func() { <-f.conns }()
				f.carry(conn)
			})
			continue
		}
		<-f.conns
		if errors.Is(err, net.ErrClosed) {
			return
		}
		select {
		case <-time.After(acceptPause):
		case <-f.ctx.Done():
			return
		}
	}
}

// carry hands a connection on. If nothing accepts it, it is reset, as a
// connection to a closed port is refused.
func (f *Forward) carry(from net.Conn) {
	defer from.Close()
	to, err := f.dial(f.ctx)
	if err != nil {
		reset(from)
		return
	}
	defer to.Close()
	defer context.AfterFunc(f.ctx, func() {
		_ = from.Close()
		_ = to.Close()
	})()
	var both sync.WaitGroup
	both.Go(func() { half(to, from) })
	half(from, to)
	both.Wait()
}

// half copies one direction until its end, and closes it for writing: the other
// direction may continue. A broken connection breaks the other one, too. Between
// TCP connections the kernel moves the data.
func half(to, from net.Conn) {
	if _, err := io.Copy(to, from); err != nil {
		for _, conn := range []net.Conn{from, to} {
			reset(conn)
			_ = conn.Close()
		}
		return
	}
	if c, ok := to.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
}

// reset makes the other end of a connection see that it was broken off.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
}
