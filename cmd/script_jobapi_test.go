package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/cmd/client"
	"taskrun/engine/httpapi"
	"taskrun/engine/leaf/runtimedir"
)

// jobapi ORDER OBJECT sends an order to the only run of the script, like Nomad's
// tools, and prints the response. OBJECT is a job in JSON, the ID of a job, the
// path of a variable or a new namespace.
func jobapi() {
	answer, err := order(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(answer)
}

func order(order, what string) (answer string, err error) {
	dir, _, err := runtimedir.Find(os.Getenv, os.Geteuid(), "")
	if err != nil {
		return "", err
	}
	sockets, err := httpapi.Find(dir)
	if err != nil || len(sockets) != 1 {
		return "", fmt.Errorf("%d runs, want 1: %w", len(sockets), err)
	}
	s, err := client.Local(sockets[0])
	if err != nil {
		return "", err
	}
	var body struct{ Job *api.Job }
	if strings.HasSuffix(what, ".json") {
		text, err := os.ReadFile(what)
		if err != nil {
			return "", err
		}
		if err := json.Unmarshal(text, &body); err != nil {
			return "", err
		}
	}
	jobs := s.API.Jobs()
	switch order {
	case "register":
		r, _, err := jobs.Register(body.Job, nil)
		if err != nil {
			return "", err
		}
		return r.Warnings, nil
	case "plan":
		r, _, err := jobs.Plan(body.Job, true, nil)
		if err != nil {
			return "", err
		}
		return r.Diff.Type, nil
	case "validate":
		r, _, err := jobs.Validate(body.Job, nil)
		if err != nil {
			return "", err
		}
		return r.Error, nil
	case "dispatch":
		r, _, err := jobs.Dispatch(what, nil, nil, "", nil)
		if err != nil {
			return "", err
		}
		return r.DispatchedJobID, nil
	case "forget":
		_, err := s.API.Variables().Delete(what, nil)
		return "", err
	case "namespace":
		_, err := s.API.Namespaces().Register(&api.Namespace{Name: what}, nil)
		return "", err
	}
	return "", fmt.Errorf("unknown order %q", order)
}
