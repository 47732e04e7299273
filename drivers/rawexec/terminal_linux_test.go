package rawexec

import (
	"os"
	"testing"
)

// The file that takes the place of a terminal can be interrupted, and is the only one.
func TestInterruptible(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	file, err := interruptible(r)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := file.Read(make([]byte, 1))
		ended <- err
	}()
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("the read has succeeded")
	}
	if _, err := r.Stat(); err == nil {
		t.Error("the first file is still open")
	}
	if file, err := interruptible(r); file != nil || err == nil {
		t.Errorf("of a closed file: %v, %v", file, err)
	}
}
