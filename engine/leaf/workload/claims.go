// Package workload implements the identity of tasks: the tokens that prove it,
// in the form in which Nomad's servers sign them, and their key. The tokens are
// valid for one engine only: no cluster knows the key. See
// https://developer.hashicorp.com/nomad/docs/concepts/workload-identity.
package workload

import (
	"cmp"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/hashicorp/nomad/api"
)

const (
	// DefaultName is the name of every task's default identity.
	DefaultName = "default"
	// nomadAudience is the audience of tokens for Nomad's own API.
	nomadAudience = "nomadproject.io"
)

// Claims are the claims of a token: its owner, audience, and validity.
type Claims struct {
	Subject    string           `json:"sub"`
	Audience   jwt.Audience     `json:"aud,omitempty"`
	IssuedAt   *jwt.NumericDate `json:"iat"`
	NotBefore  *jwt.NumericDate `json:"nbf"`
	Expiry     *jwt.NumericDate `json:"exp,omitempty"`
	ID         string           `json:"jti"`
	Namespace  string           `json:"nomad_namespace"`
	Job        string           `json:"nomad_job_id"`
	Allocation string           `json:"nomad_allocation_id"`
	Task       string           `json:"nomad_task"`
}

// Task is a task for which tokens are issued.
type Task struct {
	Region, Alloc, Group, Name string

	Job *api.Job
}

// NewClaims returns the claims of a task's identity. The keyring that signs them
// adds an ID.
func NewClaims(t Task, id *api.WorkloadIdentity, now time.Time) Claims {
	namespace, name := api.DefaultNamespace, Name(id)
	if t.Job.Namespace != nil && *t.Job.Namespace != "" {
		namespace = *t.Job.Namespace
	}
	c := Claims{
		Subject:  strings.Join([]string{t.Region, namespace, JobID(t.Job), t.Group, t.Name, name}, ":"),
		Audience: id.Audience, IssuedAt: jwt.NewNumericDate(now), NotBefore: jwt.NewNumericDate(now),
		Namespace: namespace, Job: JobID(t.Job), Allocation: t.Alloc, Task: t.Name,
	}
	if name == DefaultName {
		c.Audience = jwt.Audience{nomadAudience}
	}
	if id.TTL > 0 {
		c.Expiry = jwt.NewNumericDate(now.Add(id.TTL))
	}
	return c
}

// Name returns the name of an identity.
func Name(id *api.WorkloadIdentity) string { return cmp.Or(id.Name, DefaultName) }

// JobID returns the job of a workload: dispatched and periodic jobs have the
// identity of their parent.
func JobID(job *api.Job) string {
	if job.ParentID != nil && *job.ParentID != "" {
		return *job.ParentID
	}
	return *job.ID
}
