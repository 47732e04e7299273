package keeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"taskrun/drivers/process"
)

// wakeSignal tells the keeper of a detached run that waits to start the program.
const wakeSignal = syscall.SIGUSR1

// callFile is the name under which a keeper holds the file with the next call of
// the program, see Wake.
const callFile = "call"

// maxCall limits the size of a call, in bytes.
const maxCall = 8 << 20

// Continue says which program continues a detached run after the end of this one:
// the file at path, which may be a later version by then.
func (w *Watch) Continue(path string) error { return w.follow(next{Path: path}) }

// Await makes the keeper of a detached run wait after the end of this program,
// until Wake. The processes of the run continue meanwhile. calls is an empty file
// for Wake. Await returns the keeper.
func (w *Watch) Await(calls *os.File) (keeper process.ID, err error) {
	if w.link == nil {
		return keeper, errors.New("only a detached run continues without its program")
	}
	if keeper, err = process.Identify(w.link.PID()); err != nil {
		return keeper, fmt.Errorf("cannot continue without the keeper of the run: %w", err)
	}
	return keeper, errors.Join(w.Hold(callFile, calls), w.follow(next{Wait: true}))
}

func (w *Watch) follow(n next) error {
	if err := w.send(message{Next: &n}); err != nil {
		return fmt.Errorf("cannot reach the keeper of the run: %w", err)
	}
	return nil
}

// Wake makes a keeper that waits start this program, as Detach would. Calls is the
// path of the file of Await.
func Wake(keeper process.ID, calls, path string, d Detached) error {
	if !keeper.Running() {
		return errors.New("the keeper of the run is gone")
	}
	text, err := json.Marshal(call{Path: path, Args: d.Args, Env: d.Env, Dir: d.Dir})
	if err == nil {
		err = os.WriteFile(calls, text, 0o600)
	}
	if err == nil {
		err = syscall.Kill(keeper.PID, wakeSignal)
	}
	if err != nil {
		return fmt.Errorf("cannot wake the keeper of the run: %w", err)
	}
	return nil
}

// awake takes the call of Wake. Without one, the program is started as before.
func (p *parent) awake() {
	p.next, p.deaths = next{}, 0
	f := p.held[callFile]
	if f == nil {
		return
	}
	var c call
	if err := json.NewDecoder(io.NewSectionReader(f, 0, maxCall)).Decode(&c); err != nil || len(c.Args) == 0 {
		fmt.Fprintf(p.log, "taskrun: cannot read how to start the program: %v\n", err)
		return
	}
	p.call, p.next.Path = c, c.Path
}

// forgetSockets removes the sockets from the record, so that clients do not wait for
// the next program.
func (p *parent) forgetSockets() {
	c, err := parse(p.record.file)
	if err != nil {
		return // clients wait in vain
	}
	for _, at := range c.socketsAt {
		p.record.blank(at)
	}
}
