package template

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	dep "github.com/hashicorp/consul-template/dependency"
	"github.com/hashicorp/nomad/api"

	"taskrun/engine/leaf/service"
)

// nomad answers a question for Nomad. Regions make no difference here.
func (a *answerer) nomad(kind, arg string) (any, bool, error) {
	switch kind {
	case "nomad.var.block", "nomad.var.get": // "path@namespace.region"
		path, namespace := variablePath(arg)
		items, ok := a.stubs.Variable(namespace, path)
		if !ok {
			return nil, kind == "nomad.var.get", nil // nomadVarExists does not wait
		}
		v := dep.NewNomadVariable(&api.Variable{Namespace: namespace, Path: path, Items: items, CreateIndex: 1, ModifyIndex: 1})
		return &v.Items, true, nil
	case "nomad.var.list":
		prefix, namespace := variablePath(arg)
		list := []*dep.NomadVarMeta{}
		for _, v := range a.stubs.VariablePaths(namespace, prefix) {
			list = append(list, dep.NewNomadVarMeta(v))
		}
		return list, true, nil
	case "nomad.service":
		return a.nomadService(arg), true, nil
	case "nomad.services":
		list := []*dep.NomadServicesSnippet{}
		for name, tags := range byName(a.instances("nomad")) {
			list = append(list, &dep.NomadServicesSnippet{Name: name, Tags: tags})
		}
		slices.SortFunc(list, func(a, b *dep.NomadServicesSnippet) int { return strings.Compare(a.Name, b.Name) })
		return list, true, nil
	}
	return nil, false, noStub(kind)
}

// variablePath splits "path@namespace.region".
func variablePath(arg string) (path, namespace string) {
	path, namespace, _ = strings.Cut(arg, "@")
	namespace, _, _ = strings.Cut(namespace, ".")
	return path, namespace
}

// chosen matches a request for some of the instances; a tag may contain colons,
// too.
var chosen = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.*?):([0-9]+\|.*)$`) })

// nomadService answers "[tag.]name[@region][:count|key]".
func (a *answerer) nomadService(arg string) []*dep.NomadService {
	choose := ""
	if m := chosen().FindStringSubmatch(arg); m != nil {
		arg, choose = m[1], m[2]
	}
	tag, name := tagAndName(arg)
	list := []*dep.NomadService{}
	for _, i := range a.instances("nomad") {
		if i.ServiceName != name || tag != "" && !slices.Contains(i.Tags, tag) {
			continue
		}
		node, at := a.node(), a.seen(i)
		list = append(list, &dep.NomadService{
			ID: i.ID, Name: i.ServiceName, Node: node.ID, Address: at.Host, Port: at.Port,
			Datacenter: node.Datacenter, Tags: tags(i), JobID: i.JobID, AllocID: i.AllocID,
		})
	}
	slices.SortFunc(list, func(a, b *dep.NomadService) int { return strings.Compare(a.ID, b.ID) })
	if choose == "" {
		return list
	}
	count, key, _ := strings.Cut(choose, "|")
	n, _ := strconv.Atoi(count) // it was an int of the template
	return service.Choose(list, n, key, func(s *dep.NomadService) string { return s.ID })
}
