package artifact

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// A credential authenticates git at a server.
type credential struct {
	base        string // of the URLs for which it is valid
	user        string
	password    string
	hasPassword bool
}

// splitURL separates the credentials from the URL of a repository. Git passes
// URLs to its helpers as arguments, which every user of the machine can read,
// so it is an error if they cannot be separated.
func splitURL(text string) (clean string, c *credential, err error) {
	u, err := url.Parse(text)
	if err != nil {
		if !strings.Contains(text, "://") {
			return text, nil, nil // user@host:path
		}
		return "", nil, errors.New("the URL is invalid: write special characters in user name and password as %XX")
	}
	if u.Scheme == "" || u.Opaque != "" {
		return text, nil, nil
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return "", nil, fmt.Errorf("git would show the query of the URL to all users of this machine: write a token as https://TOKEN@%s/…", u.Host)
	}
	if u.User == nil {
		return text, nil, nil
	}
	password, has := u.User.Password()
	switch {
	case slices.Contains([]string{"http", "https", "ftp", "ftps"}, u.Scheme):
		c = &credential{user: u.User.Username(), password: password, hasPassword: has}
		if strings.ContainsFunc(c.user+c.password, func(r rune) bool { return r < ' ' }) {
			return "", nil, errors.New("there is a control character in the user name or the password of the URL")
		}
		u.User = nil
		c.base = u.Scheme + "://" + u.Host
	case !strings.HasSuffix(u.Scheme, "ssh"):
		return "", nil, fmt.Errorf("git would show the user name in the URL to all users of this machine, and %s needs none", u.Scheme)
	case has:
		return "", nil, errors.New("ssh takes no password from a URL: use the option sshkey")
	}
	return u.String(), c, nil
}

// A gitEnv is the environment of git. It also carries configuration, because
// arguments are visible to other users.
type gitEnv struct {
	env    []string
	config int // number of configuration entries
}

// newGitEnv omits variables that bind git to a repository, as in a git hook,
// and disables all prompts.
func newGitEnv(environ []string) *gitEnv {
	e := &gitEnv{env: []string{"GIT_TERMINAL_PROMPT=0", "SSH_ASKPASS=false", "SSH_ASKPASS_REQUIRE=force"}}
	for _, v := range environ {
		switch name, value, _ := strings.Cut(v, "="); name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
			"GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE",
			"GIT_TERMINAL_PROMPT", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE":
		case "GIT_CONFIG_COUNT":
			e.config, _ = strconv.Atoi(value)
		default:
			e.env = append(e.env, v)
		}
	}
	return e
}

func (e *gitEnv) environ() []string {
	return append(slices.Clip(e.env), "GIT_CONFIG_COUNT="+strconv.Itoa(e.config))
}

// set sets a configuration option of git (2.31 or later).
func (e *gitEnv) set(key, value string) {
	e.env = append(e.env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", e.config, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", e.config, value))
	e.config++
}

// add makes git use a credential. If it has a password, no other helper is
// used, because one that the user has configured could store it. Without a
// password, as in https://TOKEN@host, such a helper may provide it; otherwise
// it is empty.
func (e *gitEnv) add(c *credential) {
	user, password := fmt.Sprintf("TASKRUN_GIT_USER_%d", e.config), fmt.Sprintf("TASKRUN_GIT_PASSWORD_%d", e.config)
	e.env = append(e.env, user+"="+c.user, password+"="+c.password)
	section := "credential." + c.base
	if c.hasPassword {
		e.set(section+".helper", "") // clears the list of helpers
	}
	e.set(section+".username", c.user)
	e.set(section+".helper", fmt.Sprintf(`!f() { test "$1" = get && printf 'username=%%s\npassword=%%s\n' "$%s" "$%s"; }; f`, user, password))
}
