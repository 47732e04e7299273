package mesh

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
	// connection, such as a lack of file descriptors, or to listen again.
	acceptPause = 200 * time.Millisecond
)

// opener opens the listener of a forward.
type opener func(context.Context) (net.Listener, error)

// forward hands connections on from a listener.
type forward struct {
	open    opener
	dial    dialer
	ctx     context.Context // of all that it does
	cancel  context.CancelFunc
	addr    net.Addr
	conns   chan struct{} // holds a token for each connection
	running sync.WaitGroup
}

// newForward listens, and hands on connections until the forward is stopped.
func newForward(ctx context.Context, open opener, dial dialer) (*forward, error) {
	l, err := open(ctx)
	if err != nil {
		return nil, err
	}
	f := &forward{open: open, dial: dial, addr: l.Addr(), conns: make(chan struct{}, maxConns)}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	f.running.Go(func() { f.serve(l) })
	return f, nil
}

// stop closes the listener and all connections.
func (f *forward) stop() {
	f.cancel()
	f.running.Wait()
}

// serve accepts connections, and listens again when the listener is gone, as it
// is after its network was made again.
func (f *forward) serve(l net.Listener) {
	for f.ctx.Err() == nil {
		if l != nil {
			f.accept(l)
		}
		select {
		case <-time.After(acceptPause):
			l, _ = f.open(f.ctx) // nil until there is a network again
		case <-f.ctx.Done():
		}
	}
}

// accept accepts connections until the listener is closed.
func (f *forward) accept(l net.Listener) {
	defer l.Close()
	defer context.AfterFunc(f.ctx, func() { _ = l.Close() })()
	for {
		select {
		case f.conns <- struct{}{}:
		case <-f.ctx.Done():
			return
		}
		conn, err := l.Accept()
		if err == nil {
			f.running.Go(func() {
				defer func() { <-f.conns }()
				f.carry(conn)
			})
			continue
		}
		<-f.conns
		if errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) {
			return
		}
		select {
		case <-time.After(acceptPause):
		case <-f.ctx.Done():
			return
		}
	}
}

// carry hands a connection on. If there is nobody to hand it to, it is closed.
func (f *forward) carry(from net.Conn) {
	defer from.Close()
	to, err := f.dial(f.ctx)
	if err != nil {
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

// half copies one direction until its end, which it passes on: the other
// direction may go on. A broken connection breaks the other one, too. Between
// TCP connections the kernel moves the data.
func half(to, from net.Conn) {
	if _, err := io.Copy(to, from); err != nil {
		for _, conn := range []net.Conn{from, to} {
			if tcp, ok := conn.(*net.TCPConn); ok {
				_ = tcp.SetLinger(0) // the other end sees a reset
			}
			_ = conn.Close()
		}
		return
	}
	if c, ok := to.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
	}
}
