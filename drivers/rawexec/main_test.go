package rawexec_test

import (
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	syscall.Umask(0o022) // some tests compare modes
	goleak.VerifyTestMain(m)
}
