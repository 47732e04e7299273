package services

import (
	"strings"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec/taskenv"
)

// interpolate returns a copy of a service in which every reference is
// replaced.
func interpolate(s *api.Service, env *taskenv.Env) *api.Service {
	made := *s
	made.Name = env.Replace(s.Name)
	made.PortLabel = env.Replace(s.PortLabel)
	made.Address = env.Replace(s.Address)
	made.Tags = env.ReplaceAll(s.Tags)
	made.Meta = env.ReplaceMap(s.Meta)
	made.Checks = make([]api.ServiceCheck, len(s.Checks))
	for i, c := range s.Checks {
		for _, text := range []*string{
			&c.Name, &c.Type, &c.Command, &c.Path, &c.Protocol, &c.PortLabel, &c.InitialStatus,
			&c.Method, &c.Body, &c.GRPCService, &c.TLSServerName,
		} {
			*text = env.Replace(*text)
		}
		c.Type = strings.ToLower(c.Type) // validation takes either
		c.Args = env.ReplaceAll(c.Args)
		header := make(map[string][]string, len(c.Header))
		for name, values := range c.Header {
			header[env.Replace(name)] = env.ReplaceAll(values)
		}
		c.Header = header
		made.Checks[i] = c
	}
	return &made
}
