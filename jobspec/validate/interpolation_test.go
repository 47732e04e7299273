package validate

import (
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"taskrun/jobspec"
)

// Every place in a job where references are resolved at run time is checked.
func TestMisspelledReferences(t *testing.T) {
	t.Parallel()
	const ref = "${NOMAD_PRT_http}"
	const in = "warning job.group[0]."
	const task = in + "task[0]."
	const unknown = ": ${NOMAD_PRT_http} is not a reference that Nomad knows"
	service := func() *api.Service {
		return &api.Service{
			Name: "a", PortLabel: "http", Provider: "consul", AddressMode: "auto",
			Tags: []string{"x", ref}, CanaryTags: []string{ref}, Meta: map[string]string{"k": ref}, CanaryMeta: map[string]string{"k": ref},
			Checks: []api.ServiceCheck{{
				Type: "http", Path: "/" + ref, Interval: 1e9, Timeout: 1e9, PortLabel: "http", Header: map[string][]string{"h": {ref}},
			}},
		}
	}
	services := func(at string) []string {
		return []string{
			at + "service[0].tags[1]" + unknown, at + "service[0].canary_tags[0]" + unknown, at + "service[0].meta.k" + unknown,
			at + "service[0].canary_meta.k" + unknown, at + "service[0].check[0].path" + unknown, at + "service[0].check[0].header.h[0]" + unknown,
		}
	}
	checkFaults(t, []fault{
		{name: "env", task: func(t *api.Task) { t.Env = map[string]string{"A": "x-" + ref} }, want: []string{task + "env.A" + unknown}},
		{name: "config", task: func(t *api.Task) { t.Config["args"] = []any{ref} }, want: []string{task + "config.args" + unknown}},
		{name: "meta of the task", task: func(t *api.Task) { t.Meta = map[string]string{"k": ref} }, want: []string{task + "meta.k" + unknown}},
		{name: "meta of the group", group: func(g *api.TaskGroup) { g.Meta = map[string]string{"k": ref} }, want: []string{in + "meta.k" + unknown}},
		{name: "meta of the job", job: func(j *api.Job) { j.Meta = map[string]string{"k": ref} }, want: []string{"warning job.meta.k" + unknown}},
		{
			name: "template",
			task: func(t *api.Task) {
				t.Templates = []*api.Template{{SourcePath: new("local/" + ref), DestPath: new("local/x" + ref)}}
			},
			want: []string{task + "template[0].source" + unknown, task + "template[0].destination" + unknown},
		},
		{
			name: "artifact",
			task: func(t *api.Task) {
				t.Artifacts = []*api.TaskArtifact{{
					GetterSource: new("https://x/" + ref), RelativeDest: new("local/" + ref), GetterHeaders: map[string]string{"h": ref},
				}}
			},
			want: []string{task + "artifact[0].source" + unknown, task + "artifact[0].destination" + unknown, task + "artifact[0].headers.h" + unknown},
		},
		{name: "service of the task", task: func(t *api.Task) { t.Services = []*api.Service{service()} }, want: services(task)},
		{name: "service of the group", group: func(g *api.TaskGroup) { g.Services = []*api.Service{service()} }, want: services(in)},
		{
			name: "network", group: func(g *api.TaskGroup) { g.Networks[0].DNS = &api.DNSConfig{Servers: []string{ref}} },
			want: []string{in + "network[0].dns.servers[0]" + unknown},
		},
		{
			name: "constraint",
			job: func(j *api.Job) {
				j.Constraints = []*api.Constraint{api.NewConstraint("${attr.cpu.archh}", "=", "${node.datacentre}")}
				j.Affinities = []*api.Affinity{api.NewAffinity("${attr.kernal.name}", "=", "linux", 50)}
				j.Spreads = []*api.Spread{{Attribute: "${node.pol}", Weight: new(int8(50))}}
			},
			want: []string{
				"warning job.constraint[0].attribute: ${attr.cpu.archh} is not a reference that Nomad knows",
				"warning job.constraint[0].value: ${node.datacentre} is not a reference that Nomad knows",
				"warning job.affinity[0].attribute: ${attr.kernal.name} is not a reference that Nomad knows",
				"warning job.spread[0].attribute: ${node.pol} is not a reference that Nomad knows",
			},
		},
		{name: "no reference", job: func(j *api.Job) {
			j.Constraints = []*api.Constraint{api.NewConstraint("${attr.os.name}", "!=", "attr.os.nam}")}
		}},
	})
}

// The effect of a reference, and the suggestion, depend on its place.
func TestOutcomeOfReferences(t *testing.T) {
	t.Parallel()
	const stays, fails = "it stays in the value as it is written; ", "the task fails when it starts; "
	mean := func(name string) string { return `did you mean "${` + name + `}"?` }
	for _, c := range []struct{ ref, env, config, tag string }{
		{"NOMAD_PRT_http", stays + mean("NOMAD_PORT_http"), fails + mean("NOMAD_PORT_http"), stays + mean("NOMAD_PORT_http")},
		{"NOMAD_X", stays, fails + "for a text, write $$${NOMAD_X}", stays},
		{"NOMAD_TASKNAME", stays + mean("NOMAD_TASK_NAME"), fails + mean("NOMAD_TASK_NAME"), stays + mean("NOMAD_TASK_NAME")},
		{"node.datacentre", stays + mean("node.datacenter"), fails + mean("node.datacenter"), stays + mean("node.datacenter")},
		{"attr.cpu.archh", stays + mean("attr.cpu.arch"), fails + mean("attr.cpu.arch"), stays + mean("attr.cpu.arch")},
		{"attr.os.flavor", stays, fails + "for a text, write $$${attr.os.flavor}", stays},
		{"node.attr.cpu.arch", stays + mean("attr.cpu.arch"), "", stays + mean("attr.cpu.arch")},
		{"secret.databse.pw", stays + mean("secret.database.pw"), fails + mean("secret.database.pw"), stays + mean("secret.database.pw")},
		// env and meta see original names, everything else sees clean ones.
		{"NOMAD_META_my-key", "", fails + mean("NOMAD_META_my_key"), stays + mean("NOMAD_META_my_key")},
		{"NOMAD_PORT_my-port", "", fails + mean("NOMAD_PORT_my_port"), stays + mean("NOMAD_PORT_my_port")},
		{"NOMAD_HOST_IP_my_port", stays + mean("NOMAD_HOST_IP_my-port"), fails + mean("NOMAD_HOST_IP_my-port"), stays + mean("NOMAD_HOST_IP_my-port")},
		{"NOMAD_META_MY_KEY", "", "", ""},
		{"NOMAD_PORT_my_port", "", "", ""},
		{"NOMAD_HOST_IP_my-port", "", "", ""},
		{"job.name", "", fails + "for a text, write $$${job.name}", ""},
		// These are known, or cannot be checked.
		{"NOMAD_ALLOC_INDEX", "", "", ""},
		{"NOMAD_ADDR_http", "", "", ""},
		{"NOMAD_ALLOC_ADDR_http", "", "", ""},
		{"NOMAD_UPSTREAM_ADDR_db", "", "", ""},
		{"NOMAD_PORT_t_own", "", "", ""},
		{"NOMAD_PORT_side_far", "", "", ""}, // of another task
		{"NOMAD_TOKEN", "", "", ""},
		{"NOMAD_TOKEN_vault", "", "", ""},
		{"NOMAD_MEMORY_MAX_LIMIT", "", "", ""},
		{"NOMAD_JOB_PARENT_ID", "", "", ""},
		{"NOMAD_META_required", "", "", ""},
		{"NOMAD_ADDR", "", "", ""},
		{"NOMAD_OWN", "", "", ""},
		{"NOMAD_FROM_TEMPLATE", "", "", ""},
		{"HOME", "", "", ""},
		{"FOO", "", "", ""},
		{"meta.rack", "", "", ""},
		{"attr.driver.docker.version", "", "", ""},
		{"attr.platform.aws.instance-type", "", "", ""},
		{"attr.unique.platform.gce.tag.web", "", "", ""},
		{"attr.numa.node0.cores", "", "", ""},
		{"attr.nvidia.gpu", "", "", ""},
		{"node.unique.id", "", "", ""},
		{"node.region", "", "", ""},
		{"secret.database.pw", "", "", ""},
		{"JOB", "", "", ""},
	} {
		check := func(where, want string, set func(*api.Task, string)) {
			job := validJob()
			job.Type, job.ParameterizedJob = new("batch"), &api.ParameterizedJobConfig{MetaRequired: []string{"required"}}
			job.Meta = map[string]string{"my-key": "v"}
			g := job.TaskGroups[0]
			g.Networks[0].DynamicPorts = append(g.Networks[0].DynamicPorts, api.Port{Label: "my-port"})
			task := g.Tasks[0]
			task.Env = map[string]string{"NOMAD_OWN": "x"}
			task.Secrets = []*api.Secret{{Name: "database", Provider: "nomad", Path: "p"}}
			task.Identities = []*api.WorkloadIdentity{{Name: "vault", Env: true}}
			task.Templates = []*api.Template{{EmbeddedTmpl: new("NOMAD_FROM_TEMPLATE=1"), DestPath: new("local/env"), Envvars: new(true)}}
			task.Resources = &api.Resources{Networks: []*api.NetworkResource{{DynamicPorts: []api.Port{{Label: "own"}}}}}
			g.Tasks = append(g.Tasks, &api.Task{
				Name: "side", Driver: task.Driver, Config: map[string]any{"command": "x"},
				Resources: &api.Resources{Networks: []*api.NetworkResource{{DynamicPorts: []api.Port{{Label: "far"}}}}},
			})
			set(task, "${"+c.ref+"}")
			job.Canonicalize()
			got := ""
			for _, p := range Job(job, nil) {
				if p.Word == c.ref {
					got += p.Detail + "; " + p.Remedy
				}
				if p.Severity == jobspec.Error {
					t.Errorf("%v", p)
				}
			}
			if got != want {
				t.Errorf("%s in %s: %q, want %q", c.ref, where, got, want)
			}
		}
		check("env", c.env, func(t *api.Task, ref string) { t.Env["A"] = ref })
		check("config", c.config, func(t *api.Task, ref string) { t.Config["args"] = []any{"-c", ref} })
		check("config, as text", "", func(t *api.Task, ref string) { t.Config["args"] = []any{"-c", "$" + ref} })
		check("a tag", c.tag, func(t *api.Task, ref string) {
			t.Services = []*api.Service{{Name: "s", Provider: "nomad", Tags: []string{ref}}}
		})
		check("a script", "", func(t *api.Task, ref string) {
			t.Templates[0].EmbeddedTmpl = new("NOMAD_FROM_TEMPLATE=" + strings.ReplaceAll(ref, "NOMAD_", "OTHER_"))
		})
	}
}

// The parts of a group do not see its tasks.
func TestReferencesOfGroups(t *testing.T) {
	t.Parallel()
	service := func(tag string) func(*api.TaskGroup) {
		return func(g *api.TaskGroup) {
			g.Services = []*api.Service{{Name: "a", PortLabel: "http", Provider: "nomad", Tags: []string{tag}}}
		}
	}
	const at = "warning job.group[0].service[0].tags[0]: "
	checkFaults(t, []fault{
		{name: "the allocation's", group: service("${NOMAD_ALLOC_ID} ${NOMAD_PORT_http} ${NOMAD_GROUP_NAME} ${node.class}")},
		{name: "a task's", group: service("${NOMAD_TASK_NAME}"), want: []string{at + "${NOMAD_TASK_NAME} is not a reference that Nomad knows"}},
		{name: "a port", group: service("${NOMAD_PORT_htp}"), want: []string{at + "NOMAD_PORT_htp is not set"}},
		{name: "meta for tasks", job: func(j *api.Job) { j.Meta = map[string]string{"k": "${NOMAD_TASK_NAME}"} }},
		{
			name: "meta for tasks, with the port of one of them",
			job:  func(j *api.Job) { j.Meta = map[string]string{"k": "${NOMAD_ADDR_t_far} ${NOMAD_ADDR_t_fat}"} },
			task: func(t *api.Task) {
				t.Resources = &api.Resources{Networks: []*api.NetworkResource{{DynamicPorts: []api.Port{{Label: "far"}}}}}
			},
			want: []string{
				"warning job.meta.k: ${NOMAD_ADDR_t_fat} is not a reference that Nomad knows",
				"hint job.group[0].task[0].resources.network[0]: a network in a task is deprecated",
			},
		},
	})
}
