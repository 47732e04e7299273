package keeper

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"taskrun/drivers/process"
)

// foreground is a program with a run in the foreground. It executes the commands
//
//	start SCRIPT   lasting DRIVER REF   socket PATH   run DIR   close true|false
//	keep, which starts a keeper and reports whether the pipes of the previous one
//	and of this one are open
func foreground(dir string) error {
	run, w := process.NewRun(), New()
	w.Begin(dir, func(text string) { fmt.Println("notice", text) })
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		command, rest, _ := strings.Cut(lines.Text(), " ")
		switch command {
		case "start":
			p, err := run.Start(process.Spec{Path: "/bin/sh", Args: []string{"-c", rest}, Env: environOf("a"), Dir: "/", Stdout: os.Stdout})
			if err != nil {
				return err
			}
			fmt.Println("started", p.Pid())
		case "lasting":
			driver, ref, _ := strings.Cut(rest, " ")
			w.Lasting(driver, ref)
		case "socket":
			w.Socket(rest)
		case "run":
			w.Run(rest)
		case "lock":
			f, err := os.Create(rest)
			if err == nil {
				err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
			}
			if err != nil {
				return err
			}
			w.Lock(f)
			fmt.Println("locked")
		case "keep":
			before := w.pipe
			p, err := w.start()
			if err != nil {
				return err
			}
			fmt.Println("pipes", isOpen(before), isOpen(w.pipe), p.Pid())
		case "late":
			late := w.Intend("late")
			if _, err := w.helpers.Start(process.Spec{
				Path: "/bin/sh", Args: []string{"-c", "exec sleep 600"}, Env: environOf("a"), Dir: "/",
				OnExit: func(process.Status, time.Time) { late.Remove() },
			}); err != nil {
				return err
			}
		case "close":
			if rest == "true" {
				if _, err := run.Shutdown(context.Background()); err != nil {
					return err
				}
			}
			fmt.Println("closed", w.Close(rest == "true"))
			return nil
		}
	}
	return nil
}

func isOpen(f *os.File) bool {
	_, err := f.Stat()
	return err == nil
}

// inForeground starts one. All processes with its output must end by
// themselves.
func inForeground(t *testing.T, dir string) *program1 {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, dir)
	cmd.Env = append(os.Environ(), "TASKRUN_TEST_ROLE=foreground", runOf(t.TempDir()), "GORACE=atexit_sleep_ms=0")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	if err := read.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	p := &program1{cmd: cmd, in: in, out: bufio.NewScanner(read)}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		read.Close()
	})
	return p
}

type program1 struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func (p *program1) say(t *testing.T, command string) {
	t.Helper()
	if _, err := io.WriteString(p.in, command+"\n"); err != nil {
		t.Fatal(err)
	}
}

func (p *program1) must(t *testing.T, beginning string) (rest string) {
	t.Helper()
	if !p.out.Scan() {
		t.Fatalf("no line %q came: %v", beginning, p.out.Err())
	}
	rest, ok := strings.CutPrefix(p.out.Text(), beginning)
	if !ok {
		t.Fatalf("it says %q, not %q", p.out.Text(), beginning)
	}
	return strings.TrimSpace(rest)
}

// kill kills the program and waits until all processes with its output have
// ended.
func (p *program1) kill(t *testing.T) {
	t.Helper()
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	for p.out.Scan() {
		t.Logf("%s", p.out.Text())
	}
	if err := p.out.Err(); err != nil {
		t.Errorf("somebody lives: %v", err)
	}
}

// keeper returns the PID of its keeper, which must differ from before.
func (p *program1) keeper(t *testing.T, before int) (pid int) {
	t.Helper()
	waitFor(t, "there is no keeper", func() bool {
		pid = keeperOf(p.cmd.Process.Pid)
		return pid > 0 && pid != before
	})
	return pid
}

// keeperOf returns the PID of a foreground keeper of a program, or 0.
func keeperOf(program int) int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if line, _ := os.ReadFile(file); string(line) == fmt.Sprintf("taskrun\x00keeper\x00of\x00%d\x00", program) {
			pid, _ := strconv.Atoi(strings.Split(file, "/")[2])
			return pid
		}
	}
	return 0
}

func waitFor(t *testing.T, otherwise string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(otherwise)
		}
	}
}

func gone(path string) func() bool {
	return func() bool {
		_, err := os.Lstat(path)
		return errors.Is(err, os.ErrNotExist)
	}
}

func noRecords(dir string) func() bool {
	return func() bool {
		left, _ := filepath.Glob(filepath.Join(dir, "*"+suffix))
		return len(left) == 0
	}
}

const stray = "start setsid env -i sleep 1000 & sleep 1000"

// leftovers creates what a run leaves behind, and reports it to the program.
func leftovers(t *testing.T, p *program1) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	container, socket, run := filepath.Join(dir, "container"), deadSocket(t), filepath.Join(dir, "job", "runs", "1")
	secret := filepath.Join(run, "recovery", "secret")
	if err := os.MkdirAll(secret, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(container, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.say(t, "lasting remove "+container)
	p.say(t, "socket "+socket)
	p.say(t, "run "+run)
	return []string{container, socket, secret}
}

// deadSocket creates a socket without a listener.
func deadSocket(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	return path
}

// When the program is killed, nothing is left of its run.
func TestProgramIsKilled(t *testing.T) {
	t.Parallel()
	dir := private(t)
	p := inForeground(t, dir)
	left := leftovers(t, p)
	p.say(t, stray)
	p.must(t, "started")
	p.keeper(t, 0)
	p.kill(t)
	waitFor(t, "the record is there", noRecords(dir))
	for _, path := range left {
		if !gone(path)() {
			t.Errorf("%s is there", path)
		}
	}
}

// markIn returns the mark in the only record in a directory.
func markIn(t *testing.T, dir string) uint64 {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	f, err := os.Open(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := parse(f)
	if err != nil || c.mark == 0 {
		t.Fatalf("the mark is %d, %v", c.mark, err)
	}
	return c.mark
}

// The lock and the mark of a killed program are free once its keeper has cleaned
// up.
func TestLockDuringTheCleanup(t *testing.T) {
	t.Parallel()
	dir := private(t)
	p := inForeground(t, dir)
	path := filepath.Join(t.TempDir(), "lock")
	p.say(t, "lock "+path)
	p.must(t, "locked")
	p.say(t, "start exec sleep 1000")
	p.must(t, "started")
	keeper := p.keeper(t, 0)
	mark := markIn(t, dir)
	if err := syscall.Kill(keeper, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("before the cleanup the lock is free: %v", err)
	}
	if claim, free := process.ClaimMark(mark); free {
		t.Error("before the cleanup the mark is free")
		claim.Close()
	}
	if err := syscall.Kill(keeper, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	if !noRecords(dir)() {
		t.Error("the lock is free, and the keeper has not cleaned up yet")
	}
}

// Lasting tasks without processes need a keeper, too, even without a directory.
func TestKeeperOfLastingTasks(t *testing.T) {
	t.Parallel()
	p := inForeground(t, "")
	left := leftovers(t, p)
	p.keeper(t, 0)
	p.kill(t)
	for _, path := range left {
		waitFor(t, path+" is there", gone(path))
	}
}

// A watch is closed while the reaper, which buries the keeper, removes the entry
// of a process: neither waits for the other.
func TestCloseWhileAnEntryIsRemoved(t *testing.T) {
	t.Parallel()
	dir := private(t)
	p := inForeground(t, dir)
	p.say(t, "late")
	p.say(t, "close true")
	if got := p.must(t, "closed"); got != "<nil>" {
		t.Error(got)
	}
	waitFor(t, "the record is there", noRecords(dir))
}

// A run that has cleaned up ends its keeper, which touches nothing; otherwise
// the keeper does the rest.
func TestProgramEnds(t *testing.T) {
	t.Parallel()
	for _, clean := range []bool{true, false} {
		dir := private(t)
		p := inForeground(t, dir)
		left := leftovers(t, p)
		p.say(t, stray)
		p.must(t, "started")
		keeper := p.keeper(t, 0)
		p.say(t, fmt.Sprint("close ", clean))
		if got := p.must(t, "closed"); got != "<nil>" {
			t.Error(got)
		}
		if clean && !errors.Is(syscall.Kill(keeper, 0), syscall.ESRCH) {
			t.Error("the keeper lives")
		}
		p.kill(t)
		waitFor(t, "the record is there", noRecords(dir))
		for _, path := range left {
			if gone(path)() == clean {
				t.Errorf("closed clean %t: %s is gone: %t", clean, path, !clean)
			}
		}
	}
}

// A killed keeper is replaced, and given up if that happens repeatedly.
func TestKeeperIsKilled(t *testing.T) {
	t.Parallel()
	dir := private(t)
	p := inForeground(t, dir)
	p.say(t, stray)
	p.must(t, "started")
	keeper := p.keeper(t, 0)
	if err := syscall.Kill(keeper, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.keeper(t, keeper)
	p.kill(t)
	waitFor(t, "the record is there", noRecords(dir))

	p = inForeground(t, private(t))
	p.say(t, "start exec sleep 1000")
	p.must(t, "started")
	said := make(chan bool, 1)
	go func() { said <- p.out.Scan() }()
	deaths := 0
	for keeper, ok := 0, false; !ok; {
		select {
		case ok = <-said:
			continue
		default:
		}
		if next := keeperOf(p.cmd.Process.Pid); next > 0 && next != keeper && syscall.Kill(next, syscall.SIGKILL) == nil {
			keeper = next
			deaths++
		}
	}
	if want := "notice nothing will clean up if taskrun is killed: its keeper was killed again and again"; p.out.Text() != want || deaths < maxDeaths {
		t.Errorf("after %d deaths it says %q, %v", deaths, p.out.Text(), p.out.Err())
	}
	p.say(t, "close true")
	p.must(t, "closed <nil>")
}

// If both were killed the run is found: while it is examined no other program
// has it, and its remains are swept.
func TestBothAreKilled(t *testing.T) {
	t.Parallel()
	dir := private(t)
	p := inForeground(t, dir)
	left := leftovers(t, p)
	p.say(t, "start exec sleep 1000")
	task, _ := strconv.Atoi(p.must(t, "started"))
	waitFor(t, "the shell has not become sleep", func() bool {
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", task))
		return string(command) == "sleep\x001000\x00"
	})
	keeper := p.keeper(t, 0)
	for _, err := range []error{
		p.cmd.Process.Signal(syscall.SIGSTOP), syscall.Kill(keeper, syscall.SIGKILL), p.cmd.Process.Kill(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	_ = p.cmd.Wait()
	waitFor(t, "the keeper has not ended", func() bool { // its files are closed a little before
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", keeper))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
	var dead []*Dead
	waitFor(t, "there is no dead run", func() bool { // when the keeper is gone
		var err error
		if dead, err = FindDead(dir); err != nil {
			t.Fatal(err)
		}
		return len(dead) == 1
	})
	d := dead[0]
	if d.PID != p.cmd.Process.Pid || !slices.Equal(d.Jobs, []string{"job"}) {
		t.Errorf("dead is the run of process %d with jobs %q", d.PID, d.Jobs)
	}
	if found := d.Processes(); len(found) != 1 || found[0].PID != task || found[0].Command != "sleep 1000" {
		t.Errorf("alive are %+v, not process %d", found, task)
	}
	if others, err := FindDead(dir); err != nil || len(others) > 0 {
		t.Errorf("another finds %d, %v", len(others), err)
	}
	if killed, err := d.Sweep(t.Context(), cleaner, false); err != nil || len(killed) != 1 || killed[0].PID != task {
		t.Errorf("killed are %+v, %v", killed, err)
	}
	p.kill(t)
	for _, path := range append(left, d.file.Name()) {
		if !gone(path)() {
			t.Errorf("%s is there", path)
		}
	}
}

// startKeeper executes this program as a keeper, with a pipe, a record, a
// claim, a lock, and a foreign descriptor.
func startKeeper(t *testing.T, record string) (cmd *exec.Cmd, pipe io.Closer, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "record")
	if err := os.WriteFile(path, []byte(record), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	foreign, inherited, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(self)
	cmd.Env = []string{roleVar + "=" + watchRole, pathVar + "=" + path, "GORACE=atexit_sleep_ms=0", "GODEBUG=inittrace=1"}
	cmd.Stderr = &strings.Builder{}
	cmd.ExtraFiles = []*os.File{read, file, file, file, inherited}
	cmd.SysProcAttr = session()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		timer.Stop()
		write.Close()
		_ = cmd.Wait()
	})
	read.Close()
	file.Close()
	inherited.Close()
	if _, err := io.ReadAll(foreign); err != nil { // until the keeper has closed it
		t.Fatal(err)
	}
	foreign.Close()
	return cmd, write, path
}

// A keeper keeps only its own descriptors, has the name of the program, ignores
// signals of users and terminals, and waits before other packages are
// initialized.
func TestSettledKeeper(t *testing.T) {
	t.Parallel()
	socket := deadSocket(t)
	cmd, pipe, path := startKeeper(t, fmt.Sprintf("program 1 1 %s\nsocket %q\n", bootID(), socket))
	at := fmt.Sprintf("/proc/%d/", cmd.Process.Pid)
	if name, err := os.ReadFile(at + "comm"); err != nil || string(name) != "taskrun\n" {
		t.Errorf("it is called %q, %v", name, err)
	}
	for fd := range lastFD + 1 {
		if _, err := os.Lstat(at + fmt.Sprint("fd/", fd)); err != nil {
			t.Error(err)
		}
	}
	for _, sig := range []syscall.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGPIPE, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM,
	} {
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	if gone(socket)() {
		t.Error("it cleans up while the program lives")
	}
	pipe.Close()
	if err := cmd.Wait(); err != nil || !gone(socket)() || !gone(path)() {
		t.Errorf("%v, the socket is gone: %t, the record is gone: %t", err, gone(socket)(), gone(path)())
	}
	before, _, waited := strings.Cut(fmt.Sprint(cmd.Stderr), "init taskrun/drivers/process/keeper/early ")
	if !waited || strings.Contains(before, "init time ") || strings.Contains(before, "init github.com/") {
		t.Errorf("before it waited it initialized:\n%s", before)
	}
}

// A keeper leaves the record of a failed cleanup, and ignores a record without
// a program.
func TestKeeperWithNothingToDo(t *testing.T) {
	t.Parallel()
	for record, cleaned := range map[string]bool{
		"program 1 1 x\nlasting \"fail\" \"it is busy\"\n": true, "mark 0\n": false,
	} {
		socket := deadSocket(t)
		cmd, pipe, path := startKeeper(t, record+fmt.Sprintf("socket %q\n", socket))
		pipe.Close()
		if err := cmd.Wait(); err != nil || gone(socket)() != cleaned {
			t.Errorf("%q: %v, the socket is gone: %t", record, err, gone(socket)())
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(text), record) {
			t.Errorf("%q: the record is %q, %v", record, text, err)
		}
		if explained := strings.HasSuffix(string(text), "\nfailure \"it is busy\"\n"); explained != cleaned {
			t.Errorf("%q: the record tells why: %t", record, explained)
		}
	}
}

// A record with a path is removed, any other is emptied.
func TestRemoveRecord(t *testing.T) {
	t.Parallel()
	for _, named := range []bool{true, false} {
		f := regular(t)
		path := ""
		if named {
			path = f.Name()
		}
		if _, err := f.WriteString("program"); err != nil {
			t.Fatal(err)
		}
		if err := removeRecord(f, path); err != nil {
			t.Fatal(err)
		}
		if info, err := f.Stat(); err != nil || info.Size() > 0 || gone(f.Name())() != named {
			t.Errorf("with a path %t: %v, gone %t", named, err, gone(f.Name())())
		}
		f.Close()
		if err := removeRecord(f, path); !errors.Is(err, os.ErrClosed) {
			t.Errorf("of a closed file: %v", err)
		}
	}
}

// The pipe of a keeper stays open during the run, because the keeper takes its
// end for that of the run. That of a dead keeper is closed.
func TestPipeOfTheKeeper(t *testing.T) {
	t.Parallel()
	dir := private(t)
	p := inForeground(t, dir)
	p.say(t, "keep")
	var pid int
	if n, err := fmt.Sscanf(p.must(t, "pipes false true"), "%d", &pid); n != 1 {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.say(t, "keep")
	p.must(t, "pipes false true")
	p.say(t, "close true")
	p.must(t, "closed <nil>")
	p.kill(t)
	if !noRecords(dir)() {
		t.Error("the record is there after the end")
	}
}
