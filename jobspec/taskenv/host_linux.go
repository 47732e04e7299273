package taskenv

import (
	"io/fs"
	"iter"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// host is the source of attributes: files, and the few calls that files cannot
// replace.
type host struct {
	root     fs.FS
	hostname string
	uname    func() (release, machine string)
	usable   func(cpu int) bool // whether tasks may run on it
	landlock func() int         // version, 0 for none
	address  func(iface string) string
	space    func(dir string) (bytes uint64)
}

func thisHost() *host {
	hostname, _ := os.Hostname()
	return &host{
		root:     os.DirFS("/"),
		hostname: hostname,
		uname:    uname,
		usable:   affinity(),
		landlock: landlockVersion,
		address:  localAddress,
		space:    fileSystemSize,
	}
}

// exists reports whether a file exists and is not empty.
func (h *host) exists(name string) bool {
	info, err := fs.Stat(h.root, name)
	return err == nil && (info.IsDir() || h.line(name) != "")
}

// lines yields the lines of a file, or nothing if it cannot be read.
func (h *host) lines(name string) iter.Seq[string] {
	text, _ := fs.ReadFile(h.root, name)
	return strings.SplitSeq(strings.TrimSpace(string(text)), "\n")
}

// line returns the first line of a file.
func (h *host) line(name string) string {
	for line := range h.lines(name) {
		return strings.TrimSpace(line)
	}
	return ""
}

// number returns the number in a file, or 0.
func (h *host) number(name string) int {
	n, _ := strconv.Atoi(h.line(name))
	return n
}

// fields yields keys and values from a file with one pair per line. It removes
// quotes around values.
func (h *host) fields(name, separator string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for line := range h.lines(name) {
			key, value, ok := strings.Cut(line, separator)
			value = strings.Trim(strings.TrimSpace(value), `"'`)
			if ok && !yield(strings.TrimSpace(key), value) {
				return
			}
		}
	}
}

// numbers returns the numbers in a file with a list such as "0-2,7". See
// https://docs.kernel.org/admin-guide/kernel-parameters.html#cpu-lists.
func (h *host) numbers(name string) []int {
	var list []int
	for part := range strings.SplitSeq(h.line(name), ",") {
		low, high, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(low)
		if err != nil {
			continue
		}
		last := first
		if isRange {
			if last, err = strconv.Atoi(high); err != nil {
				continue
			}
		}
		for n := first; n <= last; n++ {
			list = append(list, n)
		}
	}
	return list
}

func uname() (release, machine string) {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "", runtime.GOARCH
	}
	return unix.ByteSliceToString(u.Release[:]), unix.ByteSliceToString(u.Machine[:])
}

func affinity() func(int) bool {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return func(int) bool { return true }
	}
	return set.IsSet
}

// landlockVersion asks the kernel for its Landlock version; see
// landlock_create_ruleset(2).
func landlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

func fileSystemSize(dir string) uint64 {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0
	}
	return s.Blocks * uint64(s.Frsize)
}
