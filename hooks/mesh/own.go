package mesh

import (
	"context"
	"net"

	"taskrun/drivers"
	"taskrun/engine/leaf/forward"
)

// own is the network of a group's own.
type own struct {
	*drivers.NetworkIsolation

	user drivers.NetworkUser // nil: the engine can only reach its address
}

// dial opens connections in the network.
func (o *own) dial(at endpoint) forward.Dial {
	if o.user == nil {
		return dialAt(endpoint{o.IP, at.port})
	}
	return func(ctx context.Context) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		return o.user.DialIn(ctx, o.NetworkIsolation, at.String())
	}
}

// start starts a forward at an address of the network.
func (o *own) start(ctx context.Context, at endpoint, dial forward.Dial) (*forward.Forward, error) {
	l, err := o.user.ListenIn(ctx, o.NetworkIsolation, at.String())
	if err != nil {
		return nil, err
	}
	return forward.Start(l, dial), nil
}
