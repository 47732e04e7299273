// Package jobspec reads job files: HashiCorp Nomad's job specification in HCL, in
// HCL's JSON syntax, or as the JSON of the HTTP API. It returns the job that
// Nomad's own parser would return, with the position of each part in the source,
// or a list of all errors.
//
//	Read ─ text ─→ syntax ─ body ─→ decode ─ api.Job ─→ normalize
//	                                   ↑ values
//	                   variables, locals ─→ evaluate ←─ function
//
// It knows nothing about machines and runs nothing. The language is described in
// https://developer.hashicorp.com/nomad/docs/job-specification.
package jobspec
