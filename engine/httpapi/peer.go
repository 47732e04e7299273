package httpapi

import (
	"net"
	"os"
	"sync"
)

// ownListener accepts connections of this user and of root only, should the
// modes of socket and directory ever have been loosened.
type ownListener struct {
	net.Listener
	path   string
	remove sync.Once
}

// Close ends the listener and removes its socket, once: the name may be
// another's by then.
func (l *ownListener) Close() error {
	l.remove.Do(func() { _ = os.Remove(l.path) }) // one that is gone is gone
	return l.Listener.Close()
}

// Accept passes over the connections of others.
func (l *ownListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if uid, err := peerUID(conn.(*net.UnixConn)); err == nil && (uid == os.Geteuid() || uid == 0) {
			return conn, nil
		}
		_ = conn.Close()
	}
}

func peerUID(conn *net.UnixConn) (uid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, err
	}
	var peerErr error
	err = raw.Control(func(fd uintptr) { uid, peerErr = credentials(int(fd)) })
	if err == nil {
		err = peerErr
	}
	return uid, err
}
