package tasklog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxName is the length in bytes of the longest task name whose files have valid
// names. File systems allow 255 bytes.
const MaxName = 240

// maxIndex is the highest number of a file. A file with a higher number was made by
// a task, and does not belong to a log.
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
