package tasklog

import (
	"bytes"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"
)

// The test binary plays the tasks, too: TASKLOG_ROLE says which.
const roleKey = "TASKLOG_ROLE"

var roles = map[string]func(args []string) error{
	"flood": flood,
}

func TestMain(m *testing.M) {
	if role, ok := roles[os.Getenv(roleKey)]; ok {
		if err := role(os.Args[1:]); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// flood writes <total> bytes of lines of <line> bytes, <piece> bytes a time.
func flood(args []string) error {
	var n [3]int
	for i := range n {
		var err error
		if n[i], err = strconv.Atoi(args[i]); err != nil {
			return err
		}
	}
	total, line, piece := n[0], n[1], n[2]
	text := append(bytes.Repeat([]byte{'x'}, line-1), '\n')
	data := bytes.Repeat(text, max(1, piece/line))
	for total > 0 {
		w, err := os.Stdout.Write(data[:min(total, len(data))])
		if err != nil {
			return err
		}
		total -= w
	}
	return nil
}
