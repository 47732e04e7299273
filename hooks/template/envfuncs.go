package template

import (
	"fmt"
	"os"
	"text/template"

	"taskrun/jobspec/taskenv"
)

// envFunctions returns the functions that read the environment. They see that
// of the task, with the values of the node, and nothing of taskrun's own: as in
// Nomad, a variable that only taskrun has is empty, even for envOrDefault.
func envFunctions(env *taskenv.Env) template.FuncMap {
	lookup := func(name string) string {
		value, _ := env.LookupOpen(name)
		return value
	}
	return template.FuncMap{
		"env": func(name string) (string, error) { return lookup(name), nil },
		"mustEnv": func(name string) (string, error) {
			if value := lookup(name); value != "" {
				return value, nil
			}
			return "", fmt.Errorf("required environment variable %s is empty", name)
		},
		"envOrDefault": func(name, otherwise string) (string, error) {
			if value, ok := env.LookupOpen(name); ok {
				return value, nil
			}
			if _, masked := os.LookupEnv(name); masked {
				return "", nil
			}
			return otherwise, nil
		},
	}
}
