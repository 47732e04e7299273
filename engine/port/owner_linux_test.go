package port

import (
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
)

// The process that listens on a port is named; a port on which nothing listens has
// no owner.
func TestOwner(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	number := l.Addr().(*net.TCPAddr).Port
	if got, want := owner(number), fmt.Sprintf("process %d (", os.Getpid()); !strings.HasPrefix(got, want) || !listening(number) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := owner(0); got != "some process" || listening(0) {
		t.Errorf("nobody listens on port 0, and it is that of %s", got)
	}
}
