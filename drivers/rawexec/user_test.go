package rawexec_test

import (
	"fmt"
	"os"
	"os/user"
	"strings"
	"testing"
)

const identify = "command = \"/bin/sh\"\nwork_dir = \"/\"\nargs = [\"-c\", \"id -u; id -g; id -G; echo $USER $LOGNAME $HOME\"]\n"

// A task that runs as another user has only that user's identity.
func TestUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can run a task as another user")
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Skip(err)
	}
	f := newFixture(t, identify)
	f.cfg.User = "nobody"
	f.cfg.Env["HOME"] = os.Getenv("HOME") // inherited by the task
	f.start().result()
	words := strings.Fields(f.stdout())
	groups := words[2 : len(words)-3]
	if words[0] != nobody.Uid || words[1] != nobody.Gid || len(groups) == 0 {
		t.Errorf("the user is %q", words)
	}
	for _, group := range groups {
		if group == "0" {
			t.Errorf("the user is in group 0")
		}
	}
	if got, want := strings.Join(words[len(words)-3:], " "), "nobody nobody "+nobody.HomeDir; got != want {
		t.Errorf("USER, LOGNAME, HOME are %q, not %q", got, want)
	}
}

func TestUserWithEnvironmentOfTheJob(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can run a task as another user")
	}
	f := newFixture(t, identify)
	f.cfg.User = "nobody"
	f.cfg.Env["HOME"] = "/of/the/job"
	f.start().result()
	if got := f.stdout(); !strings.HasSuffix(got, "nobody nobody /of/the/job\n") {
		t.Errorf("it wrote %q", got)
	}
}

func TestUnknownUser(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"no-such-user", "65534"} { // as in Nomad, a UID is not a name
		f := newFixture(t, identify)
		f.cfg.User = name
		f.mustFail(fmt.Sprintf("failed driver config validation: failed to identify user %q: user: unknown user %s", name, name))
	}
}

func TestUserWithoutRoot(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may start processes as anybody")
	}
	f := newFixture(t, identify)
	f.cfg.User = "root"
	f.mustFail("only root may start a process as user 0")
	for name, only := range map[string]bool{"": false, "root": true, "no-such-user": false} {
		if got := f.driver.OnlyRoot(name); got != only {
			t.Errorf("only root can start a task as %q: %v", name, got)
		}
	}
}

// A task may name the user who runs taskrun.
func TestUserOfTheProgram(t *testing.T) {
	t.Parallel()
	me, err := user.Current()
	if err != nil {
		t.Skip(err)
	}
	f := newFixture(t, identify)
	f.cfg.User = me.Username
	f.start().result()
	if words := strings.Fields(f.stdout()); len(words) < 6 || words[0] != me.Uid || words[len(words)-3] != me.Username {
		t.Errorf("the user is %q, not %s", words, me.Username)
	}
	if f.driver.OnlyRoot(me.Username) {
		t.Error("only root can start it")
	}
}
