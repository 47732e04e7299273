// Package jobspec reads job files: HashiCorp Nomad's job specification in HCL,
// in HCL's JSON syntax, or as the JSON of the HTTP API. It turns them into the
// job that Nomad's own parser would give, with the place of each part in the
// source, or into a list of all that is wrong.
//
//	Read ─ text ─→ syntax ─ body ─→ decode ─ api.Job ─→ normalize
//	                                   ↑ values
//	                   variables, locals ─→ evaluate ←─ function
//
// It knows nothing of machines and runs nothing: what a job means is for the
// packages above. The language is that of
// https://developer.hashicorp.com/nomad/docs/job-specification.
package jobspec
