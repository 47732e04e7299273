// Package java is Nomad's java driver without its isolation: it runs a class or a
// jar with the java in PATH. See package bare, and
// https://developer.hashicorp.com/nomad/docs/drivers/java for the options.
package java

import (
	"errors"
	"fmt"
	"os/exec"

	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers"
	"taskrun/drivers/bare"
	"taskrun/drivers/rawexec"
	"taskrun/drivers/schema"
)

// New returns a driver without tasks.
func New() *rawexec.Driver {
	options := schema.Join(schema.Optional(schema.Texts, "jvm_options"), schema.Optional(cty.String, "class", "class_path", "jar_path"))
	return bare.New("java", options, command, fingerprint)
}

// command returns the command line of java: the options of the virtual machine,
// the class path, the jar and the class.
func command(config cty.Value) (string, []string, error) {
	class, jar := bare.Text(config, "class"), bare.Text(config, "jar_path")
	if class == "" && jar == "" {
		return "", nil, errors.New("failed driver config validation: jar_path or class must be specified")
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return "", nil, fmt.Errorf("cannot run java: %w", err)
	}
	args := bare.Texts(config, "jvm_options")
	if path := bare.Text(config, "class_path"); path != "" {
		args = append(args, "-cp", path)
	}
	if jar != "" {
		args = append(args, "-jar", jar)
	}
	if class != "" {
		args = append(args, class)
	}
	return java, args, nil
}

// fingerprint looks for java in PATH.
func fingerprint() drivers.Fingerprint {
	path, err := exec.LookPath("java")
	if err != nil {
		return drivers.Fingerprint{
			Health: drivers.HealthUndetected, HealthDescription: "there is no java in PATH: install a Java runtime",
		}
	}
	f := drivers.Healthy("java")
	if version := versionOf(path); version != "" {
		f.Attributes["driver.java.version"] = version
	}
	return f
}
