package tasklog

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// roleKey says which role the test binary plays instead of running tests: the
// tasks, and an engine that dies.
const roleKey = "TASKLOG_ROLE"

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
