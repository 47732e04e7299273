package tasklog

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"taskrun/engine/event"
)

// BenchmarkOutput measures one task's output, through its FIFO to rotated
// files on disk.
func BenchmarkOutput(b *testing.B) {
	for _, piece := range []int{64 << 10, 4 << 10, 100} {
		b.Run(fmt.Sprintf("write=%d", piece), func(b *testing.B) {
			total := 256 << 20
			if piece < 1000 {
				total = 16 << 20
			}
			b.SetBytes(int64(total))
			b.ReportAllocs()
			for b.Loop() {
				benchmarkOutput(b, total, piece)
			}
		})
	}
}

func benchmarkOutput(b *testing.B, total, piece int) {
	var got int64
	l, err := New(Config{
		Dir: b.TempDir(), Task: "web", MaxFiles: 10, MaxFileSize: 10 << 20,
		Announce: func(_ event.Stream, _ event.Source, _, n int64, _ time.Time) { got += n },
	})
	if err != nil {
		b.Fatal(err)
	}
	stdout, stderr, err := l.Files()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], strconv.Itoa(total), "100", strconv.Itoa(piece))
	cmd.Env = append(os.Environ(), roleKey+"=flood")
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
	stdout.Close()
	stderr.Close()
	l.Drain()
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	if got != int64(total) {
		b.Fatalf("got %d bytes of %d", got, total)
	}
}
