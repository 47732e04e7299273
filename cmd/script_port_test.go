package cmd

import (
	"net"
	"os"
	"strconv"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// listen listens at 127.0.0.1:$PORT until the script ends.
func listen(ts *testscript.TestScript, neg bool, args []string) {
	l := bind(ts, neg, args)
	ts.Defer(func() { _ = l.Close() })
}

// free sets $PORT to a port without a listener.
func free(ts *testscript.TestScript, neg bool, args []string) {
	_ = bind(ts, neg, args).Close()
}

func bind(ts *testscript.TestScript, neg bool, args []string) net.Listener {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: listen, free")
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv("PORT", strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	return l
}

// waitfor waits until a file exists.
func waitfor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitfor FILE")
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); <-tick.C {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
	}
	ts.Fatalf("%s does not appear", args[0])
}
