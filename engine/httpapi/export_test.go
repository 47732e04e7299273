package httpapi

import "net"

// Die closes a listener as the death of its process does: the socket stays.
func Die(l net.Listener) { _ = l.(*ownListener).Listener.Close() }
