package ui

import (
	"bufio"
	"fmt"
	"strconv"
	"time"
)

// Usage is what a task uses at a moment.
type Usage struct {
	Job     string `json:"job"`
	Group   string `json:"group"`
	Alloc   string `json:"alloc"`
	AllocID string `json:"alloc_id"`
	Task    string `json:"task"`

	CPUPercent float64 `json:"cpu_percent"` // of one core
	CPUMHz     float64 `json:"cpu_mhz"`
	Memory     uint64  `json:"memory_bytes"`

	Label string `json:"target"`
}

// WriteUsage writes what tasks use to stdout: as a table or as objects of kind
// "stats".
func WriteUsage(s *Streams, mode Mode, colour ColourMode, at time.Time, used []Usage) error {
	out := bufio.NewWriter(s.Out)
	if mode == JSON {
		for _, u := range used {
			writeJSON(out, struct {
				jsonHead
				Usage
			}{head("stats", at), u})
		}
		return out.Flush()
	}
	style, width := s.OutStyle(colour), 0
	if s.OutTerm {
		width = s.Width()
	}
	plain := func(text string) string { return text }
	rows := []row{{[]string{"JOB", "TASK", "ALLOC", "CPU %", "MHZ", "MEMORY"}, style.Strong}}
	for _, u := range used {
		rows = append(rows, row{[]string{
			u.Job, u.Label, shortID(u.AllocID), fmt.Sprintf("%.1f", u.CPUPercent), strconv.Itoa(int(u.CPUMHz)), mebibytes(u.Memory),
		}, plain})
	}
	if width > 0 {
		fit(rows, width, 2)
	}
	writeLines(out, align(rows, 3))
	return out.Flush()
}

// mebibytes writes a number of bytes in MiB, as the job file counts memory.
func mebibytes(n uint64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
