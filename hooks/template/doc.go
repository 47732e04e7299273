// Package template is the task hook that renders a task's template blocks, and
// renders them again when what they read has changed.
// See https://developer.hashicorp.com/nomad/docs/job-specification/template.
//
// The language and its functions are those of consul-template, the library
// that Nomad uses. What is not taken from it are its clients of Consul, Vault
// and Nomad, which would read addresses and tokens from the shell, and the
// runner around them: a template names what it needs (a dependency), and this
// package answers from the stubs and the services that run here, without a
// connection, a port, or a goroutine for each. So nothing that a template does
// can reach a real cluster.
//
// One goroutine follows the templates of a task, and only when there is
// something that could change. It lives from the first start of the task until
// the task has ended for good; restarts do not render again, unless the task's
// restart block says so.
//
// Files are read and written through os.Root on the directory of the
// allocation, which no link leads out of.
package template
