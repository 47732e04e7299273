package stub

import (
	"slices"
	"strings"
)

// Secret is a secret in Vault.
type Secret struct {
	Data map[string]any
	KV2  bool // KV engine version 2: the data is below "data"
}

// IsKV2 reports whether a path belongs to a KV engine version 2: a step after
// the first one is "data", and another step follows.
func IsKV2(path string) bool {
	_, below, _ := strings.Cut(path, "/")
	steps := strings.Split(below, "/")
	i := slices.Index(steps, "data")
	return 0 <= i && i < len(steps)-1
}

// secretPath returns the path of the stub for a path in Vault. Like Vault's own
// clients, it finds "kv/data/web" for "kv/web" if only that exists.
func secretPath(path string, exists func(path string) bool) (string, bool) {
	if exists(path) {
		return path, true
	}
	steps := strings.Split(path, "/")
	for i := 1; i < len(steps); i++ {
		if full := strings.Join(slices.Insert(slices.Clone(steps), i, "data"), "/"); exists(full) {
			return full, true
		}
	}
	return "", false
}

// secretIn returns the name under which a list of a path in Vault has a secret: a
// name, or a folder with a slash. Vault lists a KV engine version 2 below
// "metadata", which its clients let users omit.
func secretIn(secret, path string) (name string, below bool) {
	folder := strings.Trim(path, "/") + "/"
	if IsKV2(secret) {
		secret = strings.Replace(secret, "/data/", "/", 1)
		folder = strings.Replace(folder, "/metadata/", "/", 1)
	}
	rest, below := strings.CutPrefix(secret, folder)
	name, _, deeper := strings.Cut(rest, "/")
	if deeper {
		name += "/"
	}
	return name, below
}
