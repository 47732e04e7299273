// Package java is Nomad's java driver without its isolation: it runs a class or a
// jar with the java in PATH. See package bare, and
// https://developer.hashicorp.com/nomad/docs/drivers/java for the options.
package java

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"taskrun/drivers"
	"taskrun/drivers/bare"
	"taskrun/drivers/rawexec"
)

type options struct {
	bare.Options
	JVMOptions []string `cty:"jvm_options"`
	Class      string   `cty:"class"`
	ClassPath  string   `cty:"class_path"`
	JarPath    string   `cty:"jar_path"`
}

// New returns a driver without tasks.
func New() *rawexec.Driver { return bare.New("java", command, fingerprint) }

// command returns the command line of java: the options of the virtual machine,
// the class path, the jar and the class.
func command(o *options) (bare.Options, []string, error) {
	if o.Class == "" && o.JarPath == "" {
		return o.Options, nil, errors.New("failed driver config validation: jar_path or class must be specified")
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return o.Options, nil, fmt.Errorf("cannot run java: %w", err)
	}
	argv := append([]string{java}, o.JVMOptions...)
	if o.ClassPath != "" {
		argv = append(argv, "-cp", o.ClassPath)
	}
	if o.JarPath != "" {
		argv = append(argv, "-jar", o.JarPath)
	}
	if o.Class != "" {
		argv = append(argv, o.Class)
	}
	return o.Options, argv, nil
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

// versionOf returns the version in the file "release" (JEP 220) of the Java that a
// program belongs to, or "".
func versionOf(program string) string {
	program, err := filepath.EvalSymlinks(program)
	if err != nil {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(program)), "release"))
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), "JAVA_VERSION="); ok {
			return strings.Trim(version, `"`)
		}
	}
	return ""
}
