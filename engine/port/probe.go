package port

import (
	"errors"
	"net"
	"strconv"
	"syscall"
)

// Address is that of every port: what runs here is for this machine.
const Address = "127.0.0.1"

// taken reports whether somebody listens on a port. One that this user may not
// listen on is looked up.
func taken(number int) bool {
	l, err := net.Listen("tcp4", net.JoinHostPort(Address, strconv.Itoa(number)))
	if err == nil {
		_ = l.Close()
		return false
	}
	return errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.EACCES) && listening(number)
}

// untouched reports whether a port can be listened on, on any address, and no
// datagram socket has it either.
func untouched(number int) bool {
	text := strconv.Itoa(number)
	for _, address := range []string{net.JoinHostPort(Address, text), ":" + text} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return false
		}
		_ = l.Close()
	}
	p, err := net.ListenPacket("udp4", net.JoinHostPort(Address, text))
	if err != nil {
		return false
	}
	_ = p.Close()
	return true
}
