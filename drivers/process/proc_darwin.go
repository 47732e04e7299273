package process

import (
	"bytes"
	"encoding/binary"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// States SSTOP and SZOMB of <sys/proc.h>.
const (
	stoppedState = 4
	zombieState  = 5
)

// Suspended reports whether a process is stopped, for example by Ctrl-Z.
func Suspended(pid int) bool {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	return err == nil && int(info.Proc.P_pid) == pid && info.Proc.P_stat == stoppedState
}

func stat(pid int) (p proc, ok bool) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return p, false
	}
	return procOf(info), true
}

func procOf(info *unix.KinfoProc) proc {
	pid := int(info.Proc.P_pid)
	session, _ := unix.Getsid(pid)
	started := info.Proc.P_starttime
	return proc{
		ID:      ID{PID: pid, Start: uint64(started.Sec)*1e6 + uint64(started.Usec)},
		ppid:    int(info.Eproc.Ppid),
		session: session,
		ended:   info.Proc.P_stat == zombieState,
	}
}

// table returns all processes.
func table() map[int]proc {
	infos, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	all := make(map[int]proc, len(infos))
	for i := range infos {
		p := procOf(&infos[i])
		all[p.PID] = p
	}
	return all
}

// outsiders returns all processes; callers skip those of this program's
// session.
func outsiders(uint64) map[int]proc { return table() }

// ownChildren cannot help here: orphans are adopted by launchd.
func ownChildren() (pids []int, all bool) { return nil, false }

// strays returns all processes that this user may kill: launchd adopts orphans,
// and any of these may be one.
func strays(int) (pids []int) {
	name, args := "kern.proc.uid", []int{os.Geteuid()}
	if os.Geteuid() == 0 {
		name, args = "kern.proc.all", nil
	}
	infos, err := unix.SysctlKinfoProcSlice(name, args...)
	if err != nil {
		return nil
	}
	for i := range infos {
		if pid := int(infos[i].Proc.P_pid); pid > 1 && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids
}

// strayTree returns only the stray: it may be any process, so only its own
// evidence counts. Its descendants are strays, too.
func strayTree(pid int) []proc {
	if p, ok := stat(pid); ok {
		return []proc{p}
	}
	return nil
}

// treeOf returns a process and its descendants, parents first, or nothing if
// the process does not exist.
func treeOf(pid int) (tree []proc) {
	all := table()
	below := map[int][]int{}
	for _, p := range all {
		below[p.ppid] = append(below[p.ppid], p.PID)
	}
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		if p, ok := all[next[0]]; ok && len(tree) < len(all) {
			tree = append(tree, p)
			next = append(next, below[p.PID]...)
		}
	}
	return tree
}

// environ returns the initial environment of the process, if this user may read
// it; sure is always true. KERN_PROCARGS2 contains the number of arguments, the
// path of the program, zeros, the arguments and the environment.
func (p proc) environ() (env []string, sure bool) {
	data, err := unix.SysctlRaw("kern.procargs2", p.PID)
	if err != nil || len(data) < 4 {
		return nil, true
	}
	args := int(binary.LittleEndian.Uint32(data))
	_, rest, _ := bytes.Cut(data[4:], []byte{0})
	rest = bytes.TrimLeft(rest, "\x00")
	for i := 0; len(rest) > 0; i++ {
		var entry []byte
		entry, rest, _ = bytes.Cut(rest, []byte{0})
		if i >= args {
			env = append(env, string(entry))
		}
	}
	return env, true
}

// commandLine returns the name of a process.
func commandLine(pid int) string {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return ""
	}
	name, _, _ := bytes.Cut(info.Proc.P_comm[:], []byte{0})
	return "[" + shown(string(name)) + "]"
}

// lastBegun returns "": macOS does not report it.
func lastBegun() string { return "" }

// signal is like kill with another signal.
func (p proc) signal(sig syscall.Signal) error {
	if now, ok := stat(p.PID); !ok || now.Start != p.Start || now.ended {
		return syscall.ESRCH
	}
	return syscall.Kill(p.PID, sig)
}

// hasOwnProgram returns false: on macOS, a process shows its environment as
// soon as it exists.
func hasOwnProgram(int) bool { return false }

// Now returns the current time in the unit of ID.Start.
func Now() uint64 { return uint64(time.Now().UnixMicro()) }

// watchEnd returns nil: macOS does not report it.
func watchEnd(int, func() bool) <-chan struct{} { return nil }

func children(pid int) []int { return childrenByTable(table(), pid) }

// ownMemoryPeak returns ownPeakRSS; macOS reports nothing better.
func ownMemoryPeak() int64 { return ownPeakRSS() }
