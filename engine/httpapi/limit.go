package httpapi

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"time"

	"taskrun/engine/httpapi/rest"
)

const (
	// descriptorsPer is the number of descriptors of the process for each
	// connection of a listener: a stream also has a file open, and the tasks
	// need their own.
	descriptorsPer = 8
	minConnections = 64
	maxConnections = 4096
	// refusal is the response to a connection over the limit.
	refusal = "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain; charset=utf-8\r\n" +
		"Connection: close\r\nContent-Length: 31\r\n\r\n" + tooMany
	tooMany = "Too many concurrent connections"
	// refusalTime is the time for the request of a connection over the limit,
	// and again for the response. A client on a busy machine needs a while.
	refusalTime = 2 * time.Second
	// refusals is how many connections over the limit may send their request
	// first at a time: an earlier response confuses some clients.
	refusals = 64
	// maxStrangers limits the connections of a port that have not sent its
	// token yet.
	maxStrangers = 512
	// strangerTime is the lifetime of such a connection.
	strangerTime = 5 * time.Second
)

// connections returns the limit of a listener's concurrent connections.
func connections() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return minConnections
	}
	return int(min(max(limit.Cur/descriptorsPer, minConnections), maxConnections))
}

// limitedListener limits its concurrent connections. Each listener has its own
// limit, so a crowd at a port does not affect the socket.
//
// Connections of a port with a token start as strangers, which have separate
// slots and a short life. If these slots are full, a new connection replaces
// the oldest stranger, so nobody can lock clients out by connecting first. The
// first request with the token moves a connection to one of the other slots,
// which strangers cannot take.
type limitedListener struct {
	net.Listener
	slots    chan struct{}
	refusing chan struct{}
	refused  sync.WaitGroup

	guarded      bool // clients must send a token
	mu           sync.Mutex
	strangers    []*limitedConn // oldest first
	maxStrangers int
}

func withLimit(l net.Listener, n int) *limitedListener {
	_, guarded := l.(*tokenListener)
	return &limitedListener{
		Listener: l, slots: make(chan struct{}, n), refusing: make(chan struct{}, refusals),
		guarded: guarded, maxStrangers: min(n/2, maxStrangers),
	}
}

// Accept skips connections over the limit.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.guarded {
			return l.meet(conn), nil
		}
		select {
		case l.slots <- struct{}{}:
			return &limitedConn{Conn: conn, listener: l, standing: admitted}, nil
		default:
			l.refuse(conn)
		}
	}
}

// meet accepts a stranger, which replaces the oldest one if there are too many.
func (l *limitedListener) meet(conn net.Conn) *limitedConn {
	c := &limitedConn{Conn: conn, listener: l, until: time.Now().Add(strangerTime)}
	_ = conn.SetDeadline(c.until) // a failed connection is closed when it is read
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.strangers) == l.maxStrangers {
		l.strangers[0].dismiss()
	}
	l.strangers = append(l.strangers, c)
	return c
}

// refuse responds to a connection over the limit, without blocking.
func (l *limitedListener) refuse(conn net.Conn) {
	answer := func() {
		if conn.SetDeadline(time.Now().Add(refusalTime)) == nil {
			_, _ = io.WriteString(conn, refusal)
		}
		_ = conn.Close()
	}
	select {
	case l.refusing <- struct{}{}:
		l.refused.Go(func() {
			defer func() { <-l.refusing }()
			if conn.SetDeadline(time.Now().Add(refusalTime)) == nil {
				_, _ = conn.Read(make([]byte, 4096)) // any request
			}
			answer()
		})
	default:
		answer() // the buffer of a new socket has room for it
	}
}

type connKey struct{}

// keepConn stores a connection in the context of its requests.
func keepConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// admit gives the connection of an authorized request a permanent slot.
func admit(r *http.Request) error {
	if c, ok := r.Context().Value(connKey{}).(*limitedConn); ok && !c.admit() {
		return rest.Fail(http.StatusTooManyRequests, tooMany)
	}
	return nil
}

// standing is the state of a connection.
type standing int

const (
	stranger standing = iota // has not sent the token yet
	admitted                 // has one of the listener's slots
	gone                     // closed, and has no slot
)

// limitedConn releases its slot when it is closed. The deadlines of a stranger
// are never later than the end of its life.
type limitedConn struct {
	net.Conn
	listener *limitedListener
	standing standing // guarded by the listener's mu
	until    time.Time
}

// admit takes a slot of the listener, and removes the deadlines of a stranger.
// It reports whether the connection has a slot.
func (c *limitedConn) admit() bool {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	if c.standing != stranger {
		return c.standing == admitted
	}
	select {
	case c.listener.slots <- struct{}{}:
		c.leave()
		c.standing = admitted
		return c.Conn.SetDeadline(time.Time{}) == nil
	default:
		return false
	}
}

// leave removes a stranger from the list. The listener must be locked.
func (c *limitedConn) leave() {
	l := c.listener
	if i := slices.Index(l.strangers, c); i >= 0 {
		l.strangers = slices.Delete(l.strangers, i, i+1)
	}
}

// dismiss closes a stranger. The listener must be locked.
func (c *limitedConn) dismiss() {
	c.leave()
	c.standing = gone
	_ = c.Conn.Close()
}

// Close closes the connection. It may be called more than once.
func (c *limitedConn) Close() error {
	c.listener.mu.Lock()
	switch c.standing {
	case stranger:
		c.leave()
	case admitted:
		<-c.listener.slots
	case gone:
	}
	c.standing = gone
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite lets a client read the response before its connection is cut.
func (c *limitedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// SetDeadline sets both deadlines.
func (c *limitedConn) SetDeadline(t time.Time) error {
	return c.within(t, c.Conn.SetDeadline)
}

// SetReadDeadline sets the read deadline.
func (c *limitedConn) SetReadDeadline(t time.Time) error {
	return c.within(t, c.Conn.SetReadDeadline)
}

// SetWriteDeadline sets the write deadline.
func (c *limitedConn) SetWriteDeadline(t time.Time) error {
	return c.within(t, c.Conn.SetWriteDeadline)
}

// within sets a deadline, limited to the end of a stranger's life.
func (c *limitedConn) within(t time.Time, set func(time.Time) error) error {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	if c.standing == stranger && (t.IsZero() || t.After(c.until)) {
		t = c.until
	}
	return set(t)
}
