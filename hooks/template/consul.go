package template

import (
	"slices"
	"strings"

	dep "github.com/hashicorp/consul-template/dependency"
	consul "github.com/hashicorp/consul/api"

	"taskrun/jobspec/taskenv"
)

// consul answers a question for Consul. Data centers, partitions and namespaces
// make no difference here.
func (a *answerer) consul(kind, arg string) (any, bool, error) {
	name, _, _ := strings.Cut(arg, "@")
	switch kind {
	case "kv.block": // key: waits for the value
		value, ok := a.stubs.Key(name)
		return value, ok, nil
	case "kv.get": // keyExists, keyOrDefault
		if value, ok := a.stubs.Key(name); ok {
			return value, true, nil
		}
		return nil, true, nil
	case "kv.list": // ls, tree
		return a.pairs(name), true, nil
	case "health.service":
		return a.healthServices(arg), true, nil
	case "health.connect": // there is no mesh
		return []*dep.HealthService{}, true, nil
	case "connect.caroots":
		roots, err := a.cfg.authority.roots()
		return roots, err == nil, err
	case "connect.caleaf":
		leaf, err := a.cfg.authority.leaf(arg)
		return leaf, err == nil, err
	case "catalog.services":
		return a.catalogServices(), true, nil
	case "catalog.datacenters":
		return []string{a.node().Datacenter}, true, nil
	case "catalog.nodes":
		return []*dep.Node{a.node()}, true, nil
	case "catalog.node":
		if name != "" && name != a.node().Node {
			return (*dep.CatalogNode)(nil), true, nil
		}
		return &dep.CatalogNode{Node: a.node(), Services: a.nodeServices()}, true, nil
	}
	return nil, false, noStub(kind)
}

func (a *answerer) pairs(prefix string) []*dep.KeyPair {
	pairs := []*dep.KeyPair{}
	for i, key := range a.stubs.Keys(prefix) {
		value, _ := a.stubs.Key(key)
		index := uint64(i + 1)
		pairs = append(pairs, &dep.KeyPair{
			Path: key, Key: strings.TrimLeft(strings.TrimPrefix(key, prefix), "/"), Value: value,
			CreateIndex: index, ModifyIndex: index,
		})
	}
	return pairs
}

// node returns this machine as a Consul node.
func (a *answerer) node() *dep.Node {
	get := func(name string) string {
		value, _ := a.env.LookupOpen(name)
		return value
	}
	address := "127.0.0.1"
	if a.view != nil {
		address = a.view(taskenv.Endpoint{Host: address}).Host
	}
	return &dep.Node{
		ID: get("node.unique.id"), Node: get("node.unique.name"), Address: address, Datacenter: get("node.datacenter"),
		TaggedAddresses: map[string]string{"lan": address, "wan": address}, Meta: map[string]string{},
	}
}

func (a *answerer) nodeServices() (list []*dep.CatalogNodeService) {
	for _, i := range a.instances("consul") {
		if i.AllocID != "" {
			at := a.seen(i)
			list = append(list, &dep.CatalogNodeService{
				ID: i.ID, Service: i.ServiceName, Tags: tags(i), Meta: i.Meta, Port: at.Port, Address: at.Host,
			})
		}
	}
	return list
}

func (a *answerer) catalogServices() []*dep.CatalogSnippet {
	list := []*dep.CatalogSnippet{}
	for name, tags := range byName(a.instances("consul")) {
		list = append(list, &dep.CatalogSnippet{Name: name, Tags: tags})
	}
	slices.SortFunc(list, func(a, b *dep.CatalogSnippet) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// healthServices answers "[tag.]name[@…][~near]|status,…".
func (a *answerer) healthServices(arg string) []*dep.HealthService {
	arg, statuses, _ := strings.Cut(arg, "|")
	arg, _, _ = strings.Cut(arg, "~")
	tag, name := tagAndName(arg)
	wanted := strings.Split(statuses, ",")
	node := a.node()
	list := []*dep.HealthService{}
	for _, i := range a.instances("consul") {
		if i.ServiceName != name || tag != "" && !slices.Contains(i.Tags, tag) ||
			!slices.Contains(wanted, i.Status) && !slices.Contains(wanted, dep.HealthAny) {
			continue
		}
		at := a.seen(i)
		list = append(list, &dep.HealthService{
			Node: node.Node, NodeID: node.ID, NodeAddress: node.Address, NodeTaggedAddresses: node.TaggedAddresses,
			NodeMeta: node.Meta, ServiceMeta: i.Meta, Address: at.Host,
			ID: i.ID, Name: i.ServiceName, Tags: tags(i), Port: at.Port, Status: i.Status,
			Checks:  consul.HealthChecks{{Node: node.Node, ServiceID: i.ID, ServiceName: i.ServiceName, Status: i.Status}},
			Weights: consul.AgentWeights{Passing: 1, Warning: 1},
		})
	}
	slices.SortStableFunc(list, func(a, b *dep.HealthService) int { return strings.Compare(a.ID, b.ID) })
	return list
}
