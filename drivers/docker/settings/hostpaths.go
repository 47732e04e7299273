package settings

import (
	"path/filepath"
	"strings"

	"taskrun/drivers"
)

// HostPaths returns the sources of volumes and bind mounts outside of the
// allocation, in a config block that is not evaluated yet.
func HostPaths(config map[string]any) (found []drivers.HostPath) {
	add := func(option, path string) {
		if isHostPath(path) {
			found = append(found, drivers.HostPath{Option: option, Path: path})
		}
	}
	if config["volume_driver"] == nil {
		for _, v := range Elements(config["volumes"]) {
			text, _ := v.(string)
			source, _, _ := strings.Cut(text, ":")
			add("volumes", source)
		}
	}
	for _, option := range []string{"mount", "mounts"} {
		for _, v := range Elements(config[option]) {
			block, _ := v.(map[string]any)
			if block["type"] == "bind" {
				source, _ := block["source"].(string)
				add(option, source)
			}
		}
	}
	return found
}

// isHostPath reports whether a path that is not evaluated yet may lie outside of
// the allocation.
func isHostPath(path string) bool {
	for _, own := range []string{
		insideAlloc, insideLocal, insideSecrets, "${NOMAD_ALLOC_DIR}", "${NOMAD_TASK_DIR}", "${NOMAD_SECRETS_DIR}",
	} {
		if _, ok := below(own, path); ok {
			return false
		}
	}
	return filepath.IsAbs(path) || strings.HasPrefix(path, "${") || strings.HasPrefix(filepath.Clean(path), "../..")
}

// Elements returns the elements of a list, or a single value as a list.
func Elements(v any) []any {
	switch v := v.(type) {
	case []any:
		return v
	case []map[string]any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = v[i]
		}
		return all
	case nil:
		return nil
	}
	return []any{v}
}
