package preflight

import (
	"maps"

	"taskrun/jobspec/stub"
	"taskrun/jobspec/taskenv"
)

// Node describes this machine, with what its drivers add that jobs ask for, and
// the stubs. Without the health of drivers these add nothing.
func Node(files []File, health *Health, stubs stub.Node) *taskenv.Node {
	node := taskenv.Fingerprint()
	node.Attributes = map[string]string{}
	if health != nil {
		node.Attributes = health.attributes(files)
	}
	for to, from := range map[*string]string{
		&node.Name: stubs.Name, &node.Class: stubs.Class, &node.Pool: stubs.Pool, &node.Datacenter: stubs.Datacenter,
	} {
		if from != "" {
			*to = from
		}
	}
	maps.Copy(node.Attributes, stubs.Attributes)
	node.Meta = stubs.Meta
	return &node
}

// describeNode is Node for a case. What only looks at files asks no driver.
func (c *Case) describeNode() *taskenv.Node {
	health := c.Health
	if c.Entry&(runs|Update|Dispatch) == 0 {
		health = nil
	}
	node := Node(c.Files, health, c.Stubs.Node)
	node.MemoryOversubscription = c.MemoryMax
	return node
}
