package tasklog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"taskrun/engine/leaf/event"
)

var roles = map[string]func(args []string) error{
	"flood":     flood,
	"random":    writeRandom,
	"reopen":    reopen,
	"orphan":    leaveOrphan,
	"spew":      spew,
	"fulldisk":  fillDisk,
	"engine":    dyingEngine,
	"large":     largeEngine,
	"largetask": writeLarge,
	"count":     count,
}

// command runs the test binary in a role.
func command(role string, args ...any) *exec.Cmd {
	text := make([]string, len(args))
	for i, arg := range args {
		text[i] = fmt.Sprint(arg)
	}
	cmd := exec.Command(os.Args[0], text...)
	cmd.Env = append(os.Environ(), roleKey+"="+role, "GORACE=atexit_sleep_ms=0")
	return cmd
}

// runTask runs a command to its end with its output going to the log.
func runTask(t testing.TB, l *Log, cmd *exec.Cmd) {
	t.Helper()
	stdout, stderr, err := l.Files()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err = errors.Join(cmd.Start(), stdout.Close(), stderr.Close())
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		t.Fatal(err)
	}
	l.Drain()
}

func numbers(args []string) ([]int, error) {
	var list []int
	for _, arg := range args {
		n, err := strconv.Atoi(arg)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

// flood writes total bytes of lines of so many bytes, some bytes at a time.
func flood(args []string) error {
	n, err := numbers(args)
	if err != nil {
		return err
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

// randomPieces returns pieces of 1 byte to 1 MiB of binary data, most of them
// small, the last without a newline.
func randomPieces(seed uint64, total int) [][]byte {
	r := rand.New(rand.NewPCG(seed, 1))
	var pieces [][]byte
	for total > 0 {
		n := min(total, 1+r.IntN(1<<r.IntN(21)))
		piece := make([]byte, n)
		for i := range piece {
			piece[i] = byte(r.Uint32())
		}
		total -= n
		if total == 0 {
			piece[n-1] = 'x'
		}
		pieces = append(pieces, piece)
	}
	return pieces
}

// writeRandom writes the random pieces of a seed to stdout, and those of the
// next seed to stderr.
func writeRandom(args []string) error {
	n, err := numbers(args)
	if err != nil {
		return err
	}
	out, errs := randomPieces(uint64(n[0]), n[1]), randomPieces(uint64(n[0]+1), n[1])
	for len(out)+len(errs) > 0 {
		if len(out) > 0 {
			os.Stdout.Write(out[0])
			out = out[1:]
		}
		if len(errs) > 0 {
			os.Stderr.Write(errs[0])
			errs = errs[1:]
		}
	}
	return nil
}

// reopen writes to a stdout of its own opening, as `echo >/dev/stdout` does.
func reopen([]string) error {
	f, err := os.OpenFile("/dev/stdout", os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("reopened\n")
	return err
}

// leaveOrphan ends after a last line, and leaves a running process behind.
func leaveOrphan([]string) error {
	cmd := command("spew")
	cmd.Stdout = os.Stdout
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err := io.WriteString(os.Stdout, "last words\n")
	return err
}

func spew([]string) error {
	line := append(bytes.Repeat([]byte{'.'}, 4095), '\n')
	for {
		if _, err := os.Stdout.Write(line); err != nil {
			return err
		}
	}
}

// fillDisk writes a task's log on a file system that is full at 1000 bytes, until
// it no longer is. It prints all reports and announced output.
func fillDisk(args []string) error {
	root, err := os.OpenRoot(args[0])
	if err != nil {
		return err
	}
	log, err := New(Config{
		Dir: root, Task: "web", MaxFiles: 2, MaxFileSize: 1 << 20,
		Announce: func(s event.Stream, src event.Source, off, n int64, _ time.Time) {
			_, inMemory := src.(*piece)
			fmt.Println("announce", s, n, inMemory)
		},
		Report: func(err error) { fmt.Println("report", err) },
	})
	if err != nil {
		return err
	}
	stdout, _, err := log.Writers()
	if err != nil {
		return err
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	full := limit
	full.Cur = 1000
	piece := []byte(strings.Repeat("x", 799) + "\n")
	for i, limit := range []unix.Rlimit{full, full, full, limit, limit} {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
			return err
		}
		if _, err := stdout.Write(piece); err != nil {
			return fmt.Errorf("write %d: %w", i, err)
		}
	}
	return log.Close()
}

// dyingEngine runs a task and is killed when it has seen some output.
func dyingEngine(args []string) error {
	var seen int64
	root, err := os.OpenRoot(args[0])
	if err != nil {
		return err
	}
	log, err := New(Config{
		Dir: root, Task: "web", MaxFiles: 100, MaxFileSize: 1 << 20,
		Announce: func(_ event.Stream, _ event.Source, _, n int64, _ time.Time) {
			if seen += n; seen > 1<<20 {
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
	cmd := command("count", args[1])
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd.Run()
}

// count writes the numbers up to n, and end.
func count(args []string) error {
	n, err := numbers(args)
	if err != nil {
		return err
	}
	for i := range n[0] {
		if _, err := fmt.Fprintln(os.Stdout, i); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(os.Stdout, "end")
	return err
}
