// Package taskenv builds what a task sees of its surroundings: the NOMAD_*
// variables and the rest of its environment, the references that a job file
// makes to them, and the attributes of the node.
// See https://developer.hashicorp.com/nomad/docs/reference/runtime-environment-settings
// and https://developer.hashicorp.com/nomad/docs/reference/runtime-variable-interpolation.
//
// A Builder holds the inputs of one task (or, without a task, of one
// allocation) and makes snapshots, the Env. References are resolved in three
// ways, and what an unknown one does depends on which:
//
//   - a driver's config block is evaluated as HCL when the task starts
//     (Env.DecodeConfig); an unknown name is an error;
//   - other texts have ${name} replaced where the name is known, and keep it
//     where it is not (Env.Replace);
//   - constraints compare one whole reference (Node.Lookup).
//
// Later sources of variables win over earlier ones: directories, limits and
// identity; ports; tokens; meta; the host's variables, which only fill gaps;
// the env block; hooks; templates.
//
// Where Nomad leaves the outcome to chance or to its agent's configuration,
// this package decides:
//
//   - Variables of one env or meta block may refer to each other in any order;
//     those that refer to each other in a circle keep the reference as text. A
//     variable that names itself means the value from before the block. All
//     are reported by Env.Warnings, because on a cluster the outcome differs
//     from run to run.
//   - While an env or meta block is resolved, ports and meta keys are found
//     under the written name (NOMAD_PORT_my-port) and the cleaned one
//     (NOMAD_PORT_my_port). Afterwards only the cleaned one exists.
//   - Of meta keys "a" and "A" the second gives NOMAD_META_A. Of two names that
//     become one when cleaned, the later in byte order wins.
//   - A config block that is absent or empty is an object without options.
//   - In a config, an option that is one map may be written as a list of one
//     (which is what HCL blocks become), and an option that is a list of maps
//     as one map.
package taskenv
