package tasklog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxName is the longest name of a task, in bytes, whose files all have names
// that file systems take, which is up to 255 bytes.
const MaxName = 240

// maxIndex is the highest number of a file. Tasks may make files with higher
// ones, which are none of a log.
const maxIndex = 1 << 50

// fileName is the name of a file of a stream; the prefix is <task>.<stream>.
func fileName(prefix string, index int) string { return fmt.Sprintf("%s.%d", prefix, index) }

// list returns the numbers of a stream's files in ascending order.
func list(d dir, prefix string) ([]int, error) {
	var indexes []int
	err := d.each(func(name string) {
		digits, ok := strings.CutPrefix(name, prefix+".")
		if !ok {
			return
		}
		if n, err := strconv.Atoi(digits); err == nil && n >= 0 && n <= maxIndex && fileName(prefix, n) == name {
			indexes = append(indexes, n)
		}
	})
	slices.Sort(indexes)
	return indexes, err
}
