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
	// connection of a listener: a stream has a file open as well, and the tasks
	// need theirs.
	descriptorsPer = 8
	minConnections = 64
	maxConnections = 4096
	// refusal is the answer to a connection over the limit.
	refusal = "HTTP/1.1 429 Too Many Requests\r\nContent-Type: text/plain; charset=utf-8\r\n" +
		"Connection: close\r\nContent-Length: 31\r\n\r\n" + tooMany
	tooMany = "Too many concurrent connections"
	// refusalTime is how long a connection over the limit has for its request,
	// and again for the answer. A client on a busy machine needs a while.
	refusalTime = 2 * time.Second
	// refusals is how many connections over the limit are answered at a time
	// after they have sent a request: an earlier answer confuses some clients.
	refusals = 64
	// maxStrangers is how many connections a port has at most that have not sent
	// its token yet.
	maxStrangers = 512
	// strangerTime is how long such a connection lasts, whatever it sends.
	strangerTime = 5 * time.Second
)

// connections is how many connections a listener may have at a time.
func connections() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return minConnections
	}
	return int(min(max(limit.Cur/descriptorsPer, minConnections), maxConnections))
}

// limitedListener has a limited number of connections at a time. Each listener
// has a limit of its own: a crowd at a port takes nothing from the socket.
//
// Connections of a port with a token begin as strangers, which have slots of
// their own and short lives. When these slots are taken a new connection takes
// the oldest stranger's: connecting first keeps no client out.
// With the first request that carries the token a connection gets one of the
// other slots, and no stranger can take that.
type limitedListener struct {
	net.Listener
	slots    chan struct{}
	refusing chan struct{}
	refused  sync.WaitGroup

	guarded      bool // clients have to send a token
	mu           sync.Mutex
	strangers    []*limitedConn // the oldest first
	maxStrangers int
}

func withLimit(l net.Listener, n int) *limitedListener {
	_, guarded := l.(*tokenListener)
	return &limitedListener{
		Listener: l, slots: make(chan struct{}, n), refusing: make(chan struct{}, refusals),
		guarded: guarded, maxStrangers: min(n/2, maxStrangers),
	}
}

// Accept passes over the connections that are over the limit.
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

// meet lets a stranger in, in the place of the oldest one if need be.
func (l *limitedListener) meet(conn net.Conn) *limitedConn {
	c := &limitedConn{Conn: conn, listener: l, until: time.Now().Add(strangerTime)}
	_ = conn.SetDeadline(c.until) // a connection that fails is closed when it is read
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.strangers) == l.maxStrangers {
		l.strangers[0].dismiss()
	}
	l.strangers = append(l.strangers, c)
	return c
}

// refuse answers a connection that is over the limit, without waiting for it.
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
				_, _ = conn.Read(make([]byte, 4096)) // the request, whatever it is
			}
			answer()
		})
	default:
		answer() // a fresh socket has room for it
	}
}

type connKey struct{}

// keepConn makes a connection known to its requests.
func keepConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// admit gives the connection of a request that may be answered a slot for good.
func admit(r *http.Request) error {
	if c, ok := r.Context().Value(connKey{}).(*limitedConn); ok && !c.admit() {
		return rest.Fail(http.StatusTooManyRequests, tooMany)
	}
	return nil
}

// standing is what a connection counts as.
type standing int

const (
	stranger standing = iota // it has not sent the token yet
	admitted                 // it has one of the listener's slots
	gone                     // it counts no longer
)

// limitedConn gives its slot back when it is closed. As long as it is a
// stranger, no deadline of it is later than its end.
type limitedConn struct {
	net.Conn
	listener *limitedListener
	standing standing // guarded by the listener's mu
	until    time.Time
}

// admit takes a slot of the listener, and lifts the deadlines of a stranger. It
// reports whether the connection has a slot.
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

// leave takes a stranger off the list. The listener is locked.
func (c *limitedConn) leave() {
	l := c.listener
	if i := slices.Index(l.strangers, c); i >= 0 {
		l.strangers = slices.Delete(l.strangers, i, i+1)
	}
}

// dismiss ends a stranger. The listener is locked.
func (c *limitedConn) dismiss() {
	c.leave()
	c.standing = gone
	_ = c.Conn.Close()
}

// Close ends the connection, however often it is called.
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

// CloseWrite lets a client read the answer before its connection is cut.
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

// SetReadDeadline sets the deadline of reading.
func (c *limitedConn) SetReadDeadline(t time.Time) error {
	return c.within(t, c.Conn.SetReadDeadline)
}

// SetWriteDeadline sets the deadline of writing.
func (c *limitedConn) SetWriteDeadline(t time.Time) error {
	return c.within(t, c.Conn.SetWriteDeadline)
}

// within sets a deadline that is no later than a stranger's end.
func (c *limitedConn) within(t time.Time, set func(time.Time) error) error {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	if c.standing == stranger && (t.IsZero() || t.After(c.until)) {
		t = c.until
	}
	return set(t)
}
