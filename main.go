// Taskrun runs a HashiCorp Nomad job file on one machine.
package main

import (
	"os"

	"taskrun/cmd"
)

func main() { os.Exit(cmd.Main()) }
