package tasklog

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// fileName is the name of a file of a stream; the prefix is <task>.<stream>.
func fileName(prefix string, index int) string { return fmt.Sprintf("%s.%d", prefix, index) }

// list returns the numbers of a stream's files in ascending order.
func list(root *os.Root, prefix string) ([]int, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var indexes []int
	for _, name := range names {
		digits, ok := strings.CutPrefix(name, prefix+".")
		if !ok {
			continue
		}
		if n, err := strconv.Atoi(digits); err == nil && n >= 0 && fileName(prefix, n) == name {
			indexes = append(indexes, n)
		}
	}
	slices.Sort(indexes)
	return indexes, nil
}
