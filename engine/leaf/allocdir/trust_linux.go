package allocdir

import (
	"os"
	"strconv"
	"strings"
)

// isUnmapped reports whether a number stands for the users that a user namespace
// does not know, such as the root of the machine in a container without
// privileges; see user_namespaces(7).
func isUnmapped(uid int) bool {
	overflow, err := os.ReadFile("/proc/sys/kernel/overflowuid")
	if err != nil || strings.TrimSpace(string(overflow)) != strconv.Itoa(uid) {
		return false
	}
	table, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return false
		}
		first, err := strconv.Atoi(fields[0])
		count, countErr := strconv.Atoi(fields[2])
		if err != nil || countErr != nil || first <= uid && uid < first+count {
			return false
		}
	}
	return true
}
