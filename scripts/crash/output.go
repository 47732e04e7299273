package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// largeOutput runs a task that writes large output in pieces of 1 byte to 1
// MiB, kills its engine meanwhile, and compares the output with the files, and
// these with what a slow follower sees.
func largeOutput(dir, program string, mib, rate int, random *rand.Rand) (err error) {
	r, err := newRound(filepath.Join(dir, "output"), program, random)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			r.killAll()
		}
	}()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	job := fmt.Sprintf(outputJob, 2*mib+100, 2*mib, self, mib) // files are not quite full
	if err := os.WriteFile(filepath.Join(r.dir, "job.nomad.hcl"), []byte(job), 0o600); err != nil {
		return err
	}
	run, err := r.detach()
	if err != nil {
		return err
	}
	began := time.Now()
	follower := r.command("logs", "-f", "--stdout", "-job", "output")
	seen, err := follower.StdoutPipe()
	if err != nil {
		return err
	}
	follower.Stderr = os.Stderr
	if err := follower.Start(); err != nil {
		return err
	}
	logs := func() string {
		found, _ := filepath.Glob(filepath.Join(run.RunDir, "alloc", "*", "alloc", "logs")) // the pattern is valid
		return strings.Join(found, "")
	}
	kills := 0
	limit := patience + time.Duration(mib)*time.Second
	for !over(run.RunDir) {
		if time.Since(began) > limit {
			return fmt.Errorf("the run has not ended after %v", limit)
		}
		if pid := r.engine(run.keeper()); pid != 0 && kills < 2 && sizeOf(logs()) > int64(kills+1)*int64(mib)<<20/3 {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may just have ended
			kills++
		}
		time.Sleep(time.Millisecond)
	}
	wrote := time.Since(began)
	fmt.Printf("the run of %d MiB has ended after %.1f s, its engine was killed %d times\n", mib, wrote.Seconds(), kills)

	kept, err := openPieces(logs())
	if err != nil {
		return err
	}
	missing, err := compare(kept, int64(mib)<<20, kills)
	if err != nil {
		return fmt.Errorf("on disk: %w", err)
	}
	fmt.Printf("on disk: %d bytes are missing, none are doubled\n", missing)
	if kept, err = openPieces(logs()); err != nil {
		return err
	}
	n, err := same(&slow{Reader: seen, rate: rate << 20, began: began}, kept)
	if err = errors.Join(err, follower.Wait()); err != nil {
		return fmt.Errorf("a follower: %w, after %d bytes", err, n)
	}
	fmt.Printf("a follower of %d MiB/s has seen all %d bytes that are on disk, after %.0f s\n", rate, n, time.Since(began).Seconds())
	return r.nothingLeft()
}

const outputJob = `job "output" {
  type = "batch"
  group "g" {
    ephemeral_disk {
      size = %d
    }
    task "t" {
      driver = "raw_exec"
      logs {
        max_files     = %d
        max_file_size = 1
      }
      config {
        command = %q
        args    = ["-write", "%d"]
      }
    }
  }
}
`

// slow is a reader that returns at most the given bytes per second.
type slow struct {
	io.Reader
	rate  int
	began time.Time
	n     int64
}

func (s *slow) Read(p []byte) (int, error) {
	allowed := int64(time.Since(s.began).Seconds() * float64(s.rate))
	if s.n >= allowed {
		time.Sleep(time.Duration(float64(time.Second) * float64(s.n+int64(len(p))-allowed) / float64(s.rate)))
	}
	n, err := s.Reader.Read(p)
	s.n += int64(n)
	return n, err
}

// A text is the output of the task: numbers that look random, 8 bytes each, so
// that no two places are the same.
type text struct{ at int64 }

func (t *text) Read(p []byte) (int, error) {
	var word [8]byte
	for n := 0; n < len(p); {
		x := uint64(t.at/8+1) * 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		binary.LittleEndian.PutUint64(word[:], x^x>>31)
		c := copy(p[n:], word[t.at%8:])
		n += c
		t.at += int64(c)
	}
	return len(p), nil
}

// writeText writes the text in pieces of 1 byte to 1 MiB.
func writeText(mib int) error {
	random := rand.New(rand.NewPCG(1, uint64(mib)))
	piece, t := make([]byte, 1<<20), &text{}
	for left := mib << 20; left > 0; {
		n := min(left, 1+random.IntN(1<<random.IntN(21)))
		if random.IntN(4) == 0 {
			n = min(left, 1+random.IntN(1<<20))
		}
		_, _ = t.Read(piece[:n]) // it never ends
		if _, err := os.Stdout.Write(piece[:n]); err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// openPieces returns the content of an output's files.
func openPieces(logs string) (io.Reader, error) {
	var all []io.Reader
	for i := 0; ; i++ {
		f, err := os.Open(filepath.Join(logs, fmt.Sprint("t.stdout.", i)))
		if errors.Is(err, os.ErrNotExist) {
			return io.MultiReader(all...), nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
}

func sizeOf(logs string) (size int64) {
	entries, _ := os.ReadDir(logs) // there may be none yet
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
	}
	return size
}

// compare returns how much of the text is missing: at most maxLost bytes in one
// place for each death of an engine.
func compare(got io.Reader, size int64, deaths int) (missing int64, err error) {
	const window = 1 << 16
	t, buf, want := &text{}, make([]byte, window), make([]byte, window)
	for {
		n, err := io.ReadFull(got, buf)
		if n == 0 {
			break
		}
		rest := buf[:n]
		for len(rest) > 0 {
			at := t.at
			_, _ = t.Read(want[:len(rest)])
			same := commonPrefix(rest, want)
			rest = rest[same:]
			if len(rest) == 0 {
				break
			}
			if deaths--; deaths < 0 {
				return missing, fmt.Errorf("it differs at byte %d, where no engine died", at+int64(same))
			}
			gap := findGap(rest, at+int64(same))
			if gap < 0 {
				return missing, fmt.Errorf("it differs at byte %d", at+int64(same))
			}
			missing += gap
			t.at = at + int64(same) + gap
		}
		if err != nil {
			break
		}
	}
	if t.at != size {
		if end := size - t.at; end < 0 || end > maxLost || deaths == 0 {
			return missing, fmt.Errorf("it ends at byte %d of %d", t.at, size)
		}
		missing += size - t.at
	}
	return missing, nil
}

// findGap returns how far ahead in the text a piece is, or -1 if it is nowhere
// near.
func findGap(piece []byte, at int64) int64 {
	piece = piece[:min(len(piece), 64)]
	ahead := make([]byte, maxLost+len(piece))
	_, _ = (&text{at}).Read(ahead)
	return int64(bytes.Index(ahead, piece))
}

func commonPrefix(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return len(a)
}

// same compares two texts to their ends.
func same(a, b io.Reader) (n int64, err error) {
	x, y := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		k, err := a.Read(x)
		if k > 0 {
			if _, err := io.ReadFull(b, y[:k]); err != nil || !bytes.Equal(x[:k], y[:k]) {
				return n, fmt.Errorf("it differs at byte %d", n)
			}
			n += int64(k)
		}
		if errors.Is(err, io.EOF) {
			if k, _ := b.Read(y); k > 0 {
				return n, errors.New("it ends too early")
			}
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}
