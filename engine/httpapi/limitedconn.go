package httpapi

import (
	"net"
	"slices"
	"time"
)

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
