package event

import (
	"fmt"
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

// JobName returns the name of the job with a key for users: its ID, followed outside
// of the default namespace by @ and the namespace.
func JobName(key string) string {
	if i := strings.LastIndexByte(key, ' '); i >= 0 {
		return key[:i] + "@" + key[i+1:]
	}
	return key
}

// NamesJob reports whether a user can mean the job with a key: by its name, or by its
// ID alone.
func NamesJob(name, key string) bool {
	_, id := SplitJobKey(key)
	return name == JobName(key) || name == id
}

// TaskNames returns what users call a task in the allocation of a group with an
// index, [JOB/][GROUP[INDEX]/]TASK, shortest first.
func TaskNames(job, group string, index int, task string) []string {
	instance := fmt.Sprintf("%s[%d]", group, index)
	return []string{
		task, group + "/" + task, instance + "/" + task,
		job + "/" + task, job + "/" + group + "/" + task, job + "/" + instance + "/" + task,
	}
}

// GroupNames returns what users call a group, or its allocation with an index:
// [JOB/]GROUP[INDEX].
func GroupNames(job, group string, index int) []string {
	instance := fmt.Sprintf("%s[%d]", group, index)
	return []string{group, instance, job + "/" + group, job + "/" + instance}
}
