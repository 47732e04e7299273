package httpapi_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// nobody is a UID other than root.
const nobody = 65534

// asNobody requests the jobs from a server as another user of this machine, in
// a thread that ends with the goroutine.
func asNobody(path string) (answer string, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked
		const same = ^uintptr(0)
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, same, nobody, same); errno != 0 {
			err = errno
			return
		}
		answer, err = ask(path)
	}()
	<-done
	return answer, err
}

func ask(path string) (string, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: int64(patience.Seconds())}); err != nil {
		return "", err
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return "", err
	}
	_, writeErr := unix.Write(fd, []byte("GET /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"))
	buf := make([]byte, 4096)
	n, err := unix.Read(fd, buf)
	return string(buf[:max(n, 0)]), errors.Join(err, writeErr)
}

// Another user cannot reach the socket, and gets no response even if the modes
// of the socket and its directory were changed.
func TestAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to be another user")
	}
	t.Parallel()
	f := serveUnderFire(t)
	if _, err := asNobody(f.path); !errors.Is(err, unix.EACCES) {
		t.Errorf("he connects: %v", err)
	}
	for _, name := range []string{filepath.Dir(f.path), f.path} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, info.Mode().Perm()|0o777); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(name, info.Mode().Perm())
	}
	if answer, err := asNobody(f.path); answer != "" || errors.Is(err, unix.EACCES) {
		t.Errorf("he gets %q, %v", answer, err)
	}
	f.undisturbed()
}
