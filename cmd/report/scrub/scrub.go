// Package scrub takes out of texts what differs from run to run although the runs
// are the same: IDs, directories, ports, times. It is pure.
package scrub

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// rule replaces what matches a pattern.
type rule struct {
	pattern     *regexp.Regexp
	replacement string
}

const uuid = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`

// ids are UUIDs. One that ends a path is the directory of an allocation.
var ids = rules(
	`/[^\s"']*/`+uuid, "ALLOC_DIR",
	uuid, "ID",
)

// others are applied after ids.
var others = rules(
	`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| ?[+-]\d\d:?\d\d)?`, "TIME",
	`\b(dispatch|periodic)-\d{10}(-[0-9a-f]{8})?`, "$1-N",
	`:(2\d|[345]\d|6[0-5])\d{3}\b`, ":PORT", // dynamic ones, and those of clients
	`\b((?i:pid)[ =:]+)\d+`, "${1}N",
	`\b[0-9a-f]{64}\b`, "ID", // of a container or an image
	`\b(Memory peaked at )\d+`, "${1}N",
)

func rules(pairs ...string) func() []rule {
	return sync.OnceValue(func() (list []rule) {
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, rule{regexp.MustCompile(pairs[i]), pairs[i+1]})
		}
		return list
	})
}

func apply(text string, list []rule) string {
	for _, r := range list {
		text = r.pattern.ReplaceAllString(text, r.replacement)
	}
	return text
}

// IDs replaces UUIDs and the directories of allocations, and puts the text on one
// line.
func IDs(text string) string { return oneLine(apply(text, ids())) }

// Text is like IDs. It also replaces times, dynamic ports, PIDs, IDs of containers
// and child jobs, and measured memory.
func Text(text string) string {
	if strings.ContainsAny(text, "0123456789") { // in all that is replaced
		text = apply(apply(text, ids()), others())
	}
	return oneLine(text)
}

// Lines is like Text, and keeps the lines.
func Lines(text string) string { return apply(apply(text, ids()), others()) }

const (
	shortID       = 8     // the length of a short ID
	lowestDynamic = 20000 // the lowest of the ports that Nomad chooses
)

// Own returns a replacer of what belongs to one allocation: the beginning of its ID,
// and the dynamic ones of its ports. It is for results of the other functions, which
// recognize whole IDs.
func Own(alloc string, ports []int) *strings.Replacer {
	pairs := []string{alloc[:min(len(alloc), shortID)], "ID"}
	for _, port := range ports {
		if port >= lowestDynamic {
			pairs = append(pairs, strconv.Itoa(port), "PORT")
		}
	}
	return strings.NewReplacer(pairs...)
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
