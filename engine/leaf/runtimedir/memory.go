package runtimedir

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// memoryFile remembers the directory of a user whose usual one was taken.
	memoryFile = "runtime-dir"
	prefix     = "taskrun-"
	// randomLen keeps the paths of sockets short; each letter has 5 bits.
	randomLen = 12
)

// recall returns the directory named in a file if it still belongs to this user
// alone, or "".
func recall(memory string, euid int) string {
	f, err := OpenFile(memory, os.O_RDONLY)
	if err != nil {
		return ""
	}
	defer f.Close()
	return read(f, euid)
}

func read(f *os.File, euid int) string {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<12))
	dir := strings.TrimSuffix(string(text), "\n")
	if err != nil || !filepath.IsAbs(dir) || !strings.HasPrefix(filepath.Base(dir), prefix) {
		return ""
	}
	if check(dir, euid) != nil || checkParent(filepath.Dir(dir), euid) != nil {
		return ""
	}
	return dir
}

// remember creates a directory in tmp and writes its name into a file. If
// another command was faster, it returns that one's directory.
func remember(memory, tmp string, euid int) (string, error) {
	state := filepath.Dir(memory)
	if err := os.MkdirAll(state, 0o700); err != nil {
		return "", err
	}
	if err := checkParent(state, euid); err != nil {
		return "", err
	}
	f, err := OpenFile(memory, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if err := Flock(f, unix.LOCK_EX); err != nil {
		return "", err
	}
	if dir := read(f, euid); dir != "" {
		return dir, nil
	}
	dir := filepath.Join(tmp, prefix+strconv.Itoa(euid)+"-"+strings.ToLower(rand.Text()[:randomLen]))
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(dir+"\n"), 0)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(dir))
	}
	return dir, nil
}
