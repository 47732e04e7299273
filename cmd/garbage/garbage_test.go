package garbage

import (
	"runtime"
	"testing"
	"time"
)

func TestTidier(t *testing.T) { //nolint:paralleltest // it measures the memory of the program
	tidy := &Tidier{}
	tidy.timer = time.AfterFunc(time.Hour, func() {})
	defer tidy.Stop()
	tidy.release() // what other tests have left
	const size = 32 << 20
	garbage := make([]byte, size)
	for i := range garbage {
		garbage[i] = 1
	}
	before := inUse()
	runtime.KeepAlive(garbage)
	tidy.release()
	if after := inUse(); after > before-size/2 {
		t.Errorf("%d bytes are in use, %d were before", after, before)
	}
	left := tidy.left
	if tidy.release(); tidy.left != left {
		t.Error("it does its work although there is none")
	}
}
