package tasklog

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"taskrun/engine/leaf/event"
	"taskrun/engine/leaf/leaktest"
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
	dir := leaktest.TempDir(b)
	l, err := New(Config{
		Dir: at(b, dir), Times: filepath.Join(dir, ".times"), Task: "web", MaxFiles: 10, MaxFileSize: 10 << 20,
		Announce: func(_ event.Stream, _ event.Source, _, n int64, _ time.Time) { got += n },
	})
	if err != nil {
		b.Fatal(err)
	}
	runTask(b, l, command("flood", total, 100, piece))
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	if got != int64(total) {
		b.Fatalf("got %d bytes of %d", got, total)
	}
}

// BenchmarkIdle measures what a task costs that has written something and is silent now.
func BenchmarkIdle(b *testing.B) {
	dir := leaktest.TempDir(b)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var logs []*Log
	var ends []*os.File
	for i := 0; b.Loop(); i++ {
		l, err := New(Config{Dir: at(b, dir), Times: filepath.Join(dir, ".times"), Task: strconv.Itoa(i), MaxFiles: 10, MaxFileSize: 10 << 20})
		if err != nil {
			b.Fatal(err)
		}
		stdout, stderr, err := l.Files()
		if err != nil {
			b.Fatal(err)
		}
		for _, f := range []*os.File{stdout, stderr} {
			write(b, f, "a line\n")
		}
		l.Drain()
		logs, ends = append(logs, l), append(ends, stdout, stderr)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse)/float64(b.N), "B/task")
	for _, f := range ends {
		f.Close()
	}
	for _, l := range logs {
		if err := l.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
