package runtimedir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// Flock calls flock(2), and repeats it after signals.
func Flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// OpenFile opens a regular file of this user that no other user can write to.
// It follows no link in the last part of the path, and does not block on a
// pipe. If it creates the file, the file is private to the user.
func OpenFile(path string, flags int) (*os.File, error) {
	f, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	if err := CheckFile(f); err != nil {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: path, Err: err}, f.Close())
	}
	return f, nil
}

// CheckDir refuses an open directory that another user owns or can write to.
func CheckDir(dir *os.File) error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		return errors.New("it is not a directory")
	}
	return checkOwner(&stat)
}

// CheckFile refuses an open file that is not regular, or that another user
// owns, can write to, or has given another name.
func CheckFile(f *os.File) error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		return err
	}
	switch {
	case stat.Mode&unix.S_IFMT != unix.S_IFREG:
		return errors.New("it is not a regular file")
	case stat.Nlink != 1:
		return fmt.Errorf("it has %d names", stat.Nlink)
	}
	return checkOwner(&stat)
}

func checkOwner(stat *unix.Stat_t) error {
	switch {
	case int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("it belongs to another user (uid %d)", stat.Uid)
	case stat.Mode&0o022 != 0:
		return fmt.Errorf("others can write to it (mode %04o)", stat.Mode&0o777)
	}
	return nil
}
