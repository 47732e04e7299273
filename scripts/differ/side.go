package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"taskrun/cmd/report/recording"

	"github.com/hashicorp/nomad/api"
)

// side is an agent or a run on which jobs are played.
type side struct {
	address string
	nomad   string // the CLI
	// namespace is the namespace of the job; empty for the default one.
	namespace string
	client    *api.Client
	// dirs returns a pattern of the directory of an allocation; nil if
	// directories are not accessible.
	dirs func(alloc string) string
	// register submits the job file, and returns the output. nil: the job is
	// already running.
	register func(ctx context.Context, s *side, dir, name string) string
}

func newSide(address, nomad string) (*side, error) {
	client, err := api.NewClient(&api.Config{Address: address})
	return &side{address: address, nomad: nomad, client: client}, err
}

var namespace = regexp.MustCompile(`(?m)^ {0,2}namespace *= *"([^"]+)"`)

// in returns the side in the namespace of a job file. It creates the namespace
// on an agent.
func (s *side) in(ctx context.Context, jobFile string) (*side, error) {
	text, err := os.ReadFile(jobFile)
	if err != nil {
		return nil, err
	}
	found := namespace.FindSubmatch(text)
	if found == nil {
		return s, nil
	}
	moved := *s
	moved.namespace = string(found[1])
	if s.register != nil {
		s.command(ctx, "", "namespace apply "+moved.namespace)
	}
	moved.client, err = api.NewClient(&api.Config{Address: s.address, Namespace: moved.namespace})
	return &moved, err
}

func query(ctx context.Context) *api.QueryOptions { return (&api.QueryOptions{}).WithContext(ctx) }

// command runs the nomad CLI.
func (s *side) command(ctx context.Context, dir, line string) recording.Command {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	words, stdin := split(line)
	c := exec.CommandContext(ctx, s.nomad, words...)
	var stdout, stderr bytes.Buffer
	c.Dir, c.Stdin, c.Stdout, c.Stderr = dir, strings.NewReader(stdin), &stdout, &stderr
	c.Env = append(os.Environ(), "NOMAD_ADDR="+s.address, "NOMAD_NAMESPACE="+s.namespace, "NOMAD_TOKEN=", "NOMAD_CLI_NO_COLOR=1")
	err := c.Run()
	code := c.ProcessState.ExitCode()
	if c.ProcessState == nil || code < 0 {
		fmt.Fprint(&stderr, err)
		code = -1
	}
	return recording.Command{Line: line, Code: code, Stdout: stdout.String(), Stderr: stderr.String()}
}

// split splits a line into words and stdin. Quoted words may contain spaces.
func split(line string) (words []string, stdin string) {
	line, stdin, _ = strings.Cut(line, " <<< ")
	for line != "" {
		var word string
		if quoted, ok := strings.CutPrefix(line, `"`); ok {
			word, line, _ = strings.Cut(quoted, `"`)
			line = strings.TrimPrefix(line, " ")
		} else {
			word, line, _ = strings.Cut(line, " ")
		}
		words = append(words, word)
	}
	return words, stdin
}

// get reads an object of the API, and writes it with sorted keys.
func (s *side) get(ctx context.Context, path string) recording.Command {
	body, err := s.client.Raw().Response(path, query(ctx))
	if err != nil {
		return recording.Command{Code: 1, Stderr: err.Error()}
	}
	defer body.Close()
	decoder := json.NewDecoder(io.LimitReader(body, 16<<20))
	decoder.UseNumber()
	var object any
	err = decoder.Decode(&object)
	var pretty []byte
	if err == nil {
		pretty, err = json.MarshalIndent(object, "", " ") // keys are sorted
	}
	if err != nil {
		return recording.Command{Code: 1, Stderr: err.Error()}
	}
	return recording.Command{Stdout: string(pretty)}
}

// commandTime limits the time of a command.
const commandTime = time.Minute
