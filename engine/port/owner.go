package port

import (
	"os/user"
	"strconv"
	"strings"
)

// socket is a listening socket in a table of the kernel.
type socket struct{ inode, uid string }

// someone names an unknown owner in errors.
const someone = "some process"

// stateListen is TCP_LISTEN in the fourth column of /proc/net/tcp.
const stateListen = "0A"

// findListening looks for a port in a table like /proc/net/tcp; see
// https://www.kernel.org/doc/Documentation/networking/proc_net_tcp.txt.
func findListening(table string, number int) (socket, bool) {
	suffix := ":" + strings.ToUpper(strconv.FormatInt(0x10000+int64(number), 16)[1:])
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) >= 10 && strings.HasSuffix(fields[1], suffix) && fields[3] == stateListen {
			return socket{inode: fields[9], uid: fields[7]}, true
		}
	}
	return socket{}, false
}

// ofUser describes a process of another user, which cannot be inspected.
func ofUser(uid string) string {
	name := "uid " + uid
	if u, err := user.LookupId(uid); err == nil {
		name = "user " + u.Username
	}
	return "a process of " + name
}
