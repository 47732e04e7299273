package bubble

import (
	"flag"
	"sync"
	"testing"
)

// entrance returns a channel to a test that never ends and calls the functions that
// it receives. Package testing sees no flags and no arguments of this process, and
// prints nothing as long as its test has not ended.
var entrance = sync.OnceValue(func() chan<- func(*testing.T) {
	calls, inside := make(chan func(*testing.T)), make(chan struct{})
	ours := flag.CommandLine
	flag.CommandLine = flag.NewFlagSet("", flag.ContinueOnError)
	testing.Init()
	_ = flag.CommandLine.Parse(nil) // so that testing does not parse os.Args; nothing can be wrong
	go testing.Main(
		func(string, string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "bubble", F: func(t *testing.T) {
			close(inside)
			for call := range calls {
				call(t)
			}
		}}}, nil, nil)
	<-inside
	flag.CommandLine = ours
	return calls
})
