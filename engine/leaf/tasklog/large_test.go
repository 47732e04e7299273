package tasklog

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
	"taskrun/engine/leaf/racetest"
)

// largeSize is how much a task writes, in bytes.
var largeSize = 64 << 20

func init() {
	if racetest.Enabled {
		largeSize /= 4 // it would take a minute
	}
}

// TestLargeOutputOverARestart lets a task write much in pieces of 1 byte to 1 MiB,
// kills its engine in the middle, and starts another one: at most one buffer is
// missing on disk, and a follower that reads a sixteenth of the output, and the
// rest at the end, sees what is on disk.
func TestLargeOutputOverARestart(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	dir := leaktest.TempDir(t)
	follower, err := OpenReader(dir, "web", event.Stdout, 0, io.SeekStart)
	if err != nil {
		t.Fatal(err)
	}
	defer follower.Close()
	var followed strings.Builder
	follow := func() {
		follower.Hold()
		if _, err := io.CopyN(&followed, follower, 64<<10); err != nil && err != io.EOF {
			t.Error(err)
		}
	}

	engine := command("large", dir)
	progress, err := engine.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(progress); lines.Scan(); {
		follow()
	}
	_ = engine.Wait() // it was killed

	var seen, told int64
	mib, ended := make(chan bool, largeSize>>20), make(chan struct{})
	l, err := New(Config{
		Dir: at(t, dir), Task: "web", MaxFiles: 100, MaxFileSize: 1 << 20,
		Announce: func(stream event.Stream, _ event.Source, _, n int64, _ time.Time) {
			if stream == event.Stderr {
				close(ended)
				return
			}
			for seen += n; told < seen>>20; told++ {
				mib <- true
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Resume(); err != nil {
		t.Fatal(err)
	}
	for over := false; !over; {
		select {
		case <-mib:
			follow()
		case <-ended:
			over = true
		case <-time.After(patience):
			t.Fatalf("nothing comes any more, after %d bytes", seen)
		}
	}
	l.Drain()
	if late := followed.Len(); late > largeSize/4 {
		t.Errorf("the follower was not late: it has %d bytes", late)
	}
	followed.WriteString(readOn(t, follower))

	got, want := allOnDisk(t, dir, event.Stdout), join(randomPieces(1, largeSize))
	if followed.String() != got || follower.Skipped() != 0 {
		t.Errorf("the follower saw %d bytes, and %d are on disk; %d were skipped", followed.Len(), len(got), follower.Skipped())
	}
	missing := len(want) - len(got)
	same := 0
	for same < len(got) && got[same] == want[same] {
		same++
	}
	if missing < 0 || missing > bufferSize || got[same:] != want[same+missing:] {
		t.Errorf("on disk are %d bytes of %d, of which the first %d are right", len(got), len(want), same)
	}
	t.Logf("%d bytes are missing at %d of %d", missing, same, len(want))
}

// largeEngine runs a task, says when it has seen a MiB more, and is killed in
// the middle.
func largeEngine(args []string) error {
	var seen, told int64
	root, err := os.OpenRoot(args[0])
	if err != nil {
		return err
	}
	log, err := New(Config{
		Dir: root, Task: "web", MaxFiles: 100, MaxFileSize: 1 << 20,
		Announce: func(_ event.Stream, _ event.Source, _, n int64, _ time.Time) {
			for seen += n; told < seen>>20; told++ {
				fmt.Println(told)
			}
			if seen > int64(largeSize/3) {
				_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			}
		},
	})
	if err != nil {
		return err
	}
	stdout, stderr, err := log.Files()
	if err != nil {
		return err
	}
	cmd := command("largetask")
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd.Run()
}

// writeLarge writes the random pieces to stdout, and then a word to stderr.
func writeLarge([]string) error {
	for _, p := range randomPieces(1, largeSize) {
		if _, err := os.Stdout.Write(p); err != nil {
			return err
		}
	}
	// Not before all was read: the two are read in any order.
	for {
		left, err := unix.IoctlGetInt(1, fionread)
		if err != nil {
			return err
		}
		if left == 0 {
			break
		}
		<-time.After(time.Millisecond)
	}
	_, err := os.Stderr.WriteString("end\n")
	return err
}
