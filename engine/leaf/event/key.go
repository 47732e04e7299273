package event

import (
	"strings"

	"github.com/hashicorp/nomad/api"
)

// JobKey returns what identifies a job in an engine: its ID, followed outside
// of the default namespace by a space and the namespace. No job ID contains a
// space.
func JobKey(namespace, id string) string {
	if namespace == "" || namespace == api.DefaultNamespace {
		return id
	}
	return id + " " + namespace
}

// SplitJobKey returns the namespace and the ID in the key of a job.
func SplitJobKey(key string) (namespace, id string) {
	if i := strings.LastIndexByte(key, ' '); i >= 0 {
		return key[i+1:], key[:i]
	}
	return api.DefaultNamespace, key
}
