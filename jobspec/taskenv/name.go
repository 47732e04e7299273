package taskenv

import (
	"maps"
	"slices"
	"strings"
)

// cleanedPrefixes are the prefixes of names that are cleaned. Others keep every
// character, including NOMAD_HOST_IP_, NOMAD_HOST_ADDR_ and NOMAD_ALLOC_PORT_.
var cleanedPrefixes = []string{
	"NOMAD_ADDR_", "NOMAD_IP_", "NOMAD_PORT_", "NOMAD_HOST_PORT_", "NOMAD_META_",
}

// CleanName returns the name of a variable as the task sees it. In names made
// from a port label or a meta key, each byte other than letters, digits, "_"
// and "." becomes "_".
func CleanName(name string) string {
	if !strings.HasPrefix(name, "NOMAD_") {
		return name
	}
	for _, prefix := range cleanedPrefixes {
		if strings.HasPrefix(name, prefix) {
			return clean(name)
		}
	}
	return name
}

// clean makes s a valid name of a variable, which does not start with a digit.
func clean(s string) string {
	var cleaned []byte
	for i := range len(s) {
		if isNameByte(s[i]) && (i > 0 || s[i] < '0' || '9' < s[i]) {
			continue
		}
		if cleaned == nil {
			cleaned = []byte(s)
		}
		cleaned[i] = '_'
	}
	if cleaned == nil {
		return s
	}
	return string(cleaned)
}

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '.'
}

// cleanNames returns block with clean names. It returns block itself if they
// are clean already.
func cleanNames(block map[string]string) map[string]string {
	dirty := false
	for name := range block {
		dirty = dirty || CleanName(name) != name
	}
	if !dirty {
		return block
	}
	cleaned := make(map[string]string, len(block))
	for _, name := range slices.Sorted(maps.Keys(block)) {
		cleaned[CleanName(name)] = block[name]
	}
	return cleaned
}
