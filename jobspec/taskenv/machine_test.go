package taskenv

import (
	"net"
	"testing"
)

// The address of this machine is one that others may reach, and that of an interface
// belongs to it.
func TestLocalAddress(t *testing.T) {
	t.Parallel()
	all, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	reachable := map[string]bool{} // addresses of interfaces that are up and lead elsewhere
	for _, i := range all {
		addrs, err := i.Addrs()
		if err != nil {
			t.Fatal(err)
		}
		own := map[string]bool{}
		for _, addr := range addrs {
			if n, ok := addr.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() {
				own[n.IP.String()] = true
				if i.Flags&net.FlagUp != 0 && i.Flags&net.FlagLoopback == 0 {
					reachable[n.IP.String()] = true
				}
			}
		}
		if got := localAddress(i.Name); (got == "") != (len(own) == 0) || got != "" && !own[got] {
			t.Errorf("%s: %q is none of %v", i.Name, got, own)
		}
	}
	if got := localAddress(""); (got == "") != (len(reachable) == 0) || got != "" && !reachable[got] {
		t.Errorf("%q is none of %v", got, reachable)
	}
	if got := localAddress("none such"); got != "" {
		t.Errorf("an interface that is not there: %q", got)
	}
}
