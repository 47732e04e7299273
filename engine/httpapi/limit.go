package httpapi

import (
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

const (
	// descriptorsPer is how many of the descriptors that the process may have
	// there are for each connection: a stream has a file open as well, and the
	// tasks need theirs.
	descriptorsPer = 8
	minConnections = 64
	maxConnections = 4096
	// refusal is what a client gets that is one too many.
	refusal = "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain; charset=utf-8\r\n" +
		"Connection: close\r\nContent-Length: 31\r\n\r\nToo many concurrent connections"
	refusalTime = 200 * time.Millisecond
	// refusals is to how many it is said at a time when they have asked: an
	// answer that comes before confuses some clients.
	refusals = 64
)

// connections is how many connections a listener may have at a time.
func connections() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return minConnections
	}
	return int(min(max(limit.Cur/descriptorsPer, minConnections), maxConnections))
}

// limitedListener has a number of connections at a time, and tells those who
// are too many. Each listener has its own: who is not let in at a port must
// not keep others from the socket.
type limitedListener struct {
	net.Listener
	slots    chan struct{}
	refusing chan struct{}
	refused  sync.WaitGroup
}

func withLimit(l net.Listener) *limitedListener {
	return &limitedListener{Listener: l, slots: make(chan struct{}, connections()), refusing: make(chan struct{}, refusals)}
}

// Accept passes over those who are too many.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.slots <- struct{}{}:
			return &limitedConn{Conn: conn, slots: l.slots}, nil
		default:
			l.refuse(conn)
		}
	}
}

// refuse tells a client that he is one too many, which nobody waits for.
func (l *limitedListener) refuse(conn net.Conn) {
	if conn.SetDeadline(time.Now().Add(refusalTime)) != nil {
		_ = conn.Close()
		return
	}
	select {
	case l.refusing <- struct{}{}:
		l.refused.Go(func() {
			defer func() { <-l.refusing }()
			_, _ = conn.Read(make([]byte, 4096)) // whatever he asks
			_, _ = io.WriteString(conn, refusal)
			_ = conn.Close()
		})
	default:
		_, _ = io.WriteString(conn, refusal) // a fresh socket has room for it
		_ = conn.Close()
	}
}

// limitedConn gives its place back when it is closed.
type limitedConn struct {
	net.Conn
	slots chan struct{}
	once  sync.Once
}

// CloseWrite lets a client read what was said to it before it is cut off.
func (c *limitedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close ends the connection, however often it is called.
func (c *limitedConn) Close() error {
	c.once.Do(func() { <-c.slots })
	return c.Conn.Close()
}
