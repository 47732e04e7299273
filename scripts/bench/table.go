package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// A measure is one quantity, measured for several runners.
type measure struct {
	what    string
	format  func(float64) string
	more    bool               // more is better
	values  map[string]float64 // by runner
	budgets []budget
}

// A budget is a limit of taskrun's value: a maximum, or a minimum if more is
// better. The limit is a multiple of a peer's value or, without a peer,
// absolute.
type budget struct {
	peer  string
	bound float64
}

func milliseconds(s float64) string { return fmt.Sprintf("%.1f ms", s*1e3) }
func seconds(s float64) string      { return fmt.Sprintf("%.2f s", s) }
func mebibytes(b float64) string    { return fmt.Sprintf("%.1f MiB", b/(1<<20)) }
func rate(b float64) string         { return fmt.Sprintf("%.0f MiB/s", b/(1<<20)) }
func number(n float64) string       { return fmt.Sprintf("%.0f", n) }
func percent(share float64) string  { return fmt.Sprintf("%.2f %%", share*100) }

// printTable prints a row for each measure and each peer. A ratio is taskrun's
// value divided by the peer's.
func printTable(out io.Writer, measures []measure) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "what\ttaskrun\tpeer\t\tratio\tbudget")
	for _, m := range measures {
		own := m.values["taskrun"]
		fmt.Fprintf(w, "%s\t%s\t\t\t\t%s\n", m.what, m.format(own), m.verdict(""))
		for _, peer := range slices.Sorted(maps.Keys(m.values)) {
			if peer == "taskrun" {
				continue
			}
			ratio := "-"
			if m.values[peer] != 0 {
				ratio = fmt.Sprintf("%.2f", own/m.values[peer])
			}
			fmt.Fprintf(w, "\t\t%s\t%s\t%s\t%s\n", peer, m.format(m.values[peer]), ratio, m.verdict(peer))
		}
	}
	return w.Flush()
}

// verdict describes the budget for a peer, or the absolute one, and whether it
// is kept.
func (m measure) verdict(peer string) string {
	i := slices.IndexFunc(m.budgets, func(b budget) bool { return b.peer == peer })
	if i < 0 {
		return ""
	}
	b := m.budgets[i]
	limit, text := b.bound, m.format(b.bound)
	if peer != "" {
		limit, text = b.bound*m.values[peer], fmt.Sprintf("%g × %s", b.bound, peer)
	}
	sign, kept := "≤", m.values["taskrun"] <= limit
	if m.more {
		sign, kept = "≥", m.values["taskrun"] >= limit
	}
	if !kept {
		return fmt.Sprintf("%s %s: MISSED", sign, text)
	}
	return fmt.Sprintf("%s %s: kept", sign, text)
}
