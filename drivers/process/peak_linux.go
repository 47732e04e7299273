package process

import (
	"bytes"
	"strconv"
)

// ownMemoryPeak is the most resident memory that this program has had since it
// was executed, in bytes; noShadow when nobody knows. See VmHWM in proc(5).
func ownMemoryPeak() int64 {
	text, err := readFile("/proc/self/status")
	if err != nil {
		return noShadow
	}
	_, rest, _ := bytes.Cut(text, []byte("\nVmHWM:"))
	kib, _, _ := bytes.Cut(bytes.TrimSpace(rest), []byte(" "))
	n, err := strconv.ParseInt(string(kib), 10, 64)
	if err != nil {
		return noShadow
	}
	return n << 10
}
