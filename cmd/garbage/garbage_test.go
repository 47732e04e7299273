package garbage

import (
	"runtime"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"
)

func TestTidier(t *testing.T) { //nolint:paralleltest // it measures the memory of the program
	tidy := &Tidier{}
	tidy.timer = time.AfterFunc(time.Hour, func() {})
	defer tidy.Stop()
	tidy.release() // leftovers of other tests
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

// Memory goes back to the system once nothing has happened for a while, and not after
// Stop.
func TestWhenATidierWorks(t *testing.T) { //nolint:paralleltest // it measures the memory of the program
	synctest.Test(t, func(t *testing.T) {
		tidy := NewTidier()
		worked := func() bool {
			synctest.Wait()
			return tidy.left > 0
		}
		<-time.After(QuietTime - 1)
		tidy.Busy()
		<-time.After(QuietTime - 1)
		if worked() {
			t.Error("it did its work although something had happened")
		}
		tidy.Busy()
		<-time.After(QuietTime)
		if !worked() {
			t.Error("it did not do its work")
		}
		tidy.left = 0
		tidy.Busy()
		tidy.Stop()
		<-time.After(2 * QuietTime)
		if worked() {
			t.Error("it did its work after its end")
		}
	})
}

func TestCollectRarely(t *testing.T) { //nolint:paralleltest // it changes a setting of the program
	before := debug.SetGCPercent(77)
	defer debug.SetGCPercent(before)
	CollectRarely()
	if got := debug.SetGCPercent(400); got != 400 {
		t.Errorf("the percentage is %d", got)
	}
	CollectAsUsual()
	if got := debug.SetGCPercent(77); got != 77 {
		t.Errorf("the percentage is %d again", got)
	}
}
