package taskenv

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

func TestMeta(t *testing.T) {
	t.Parallel()
	job, group, task := testJob()
	job.Meta = map[string]string{"team": "job", "owner": "job", "who": "you"}
	group.Meta = map[string]string{"owner": "group", "tier": "group"}
	task.Meta = map[string]string{
		"owner": "task", "my-key": "dash", "a.b": "dot", "where": "${attr.kernel.name}/${NOMAD_TASK_NAME}",
		"k_${node.class}": "by class", "foo": "lower", "FOO": "upper", "both": "${NOMAD_META_my-key}${NOMAD_META_MY_KEY}",
		"secret": "${secret.s.k}",
	}
	job.Dispatched = true
	job.ParameterizedJob = &api.ParameterizedJobConfig{MetaOptional: []string{"why", "who"}}
	for range 10 { // the order of maps is random
		e := testBuilder(job, group, task).SetSecrets(map[string]string{"secret.s.k": "1"}).Build()
		expect(t, e, map[string]string{
			"NOMAD_META_team": "job", "NOMAD_META_TEAM": "job", "NOMAD_META_tier": "group",
			"NOMAD_META_owner": "task", "NOMAD_META_OWNER": "task",
			"NOMAD_META_my_key": "dash", "NOMAD_META_MY_KEY": "dash", "NOMAD_META_my-key": "-",
			"NOMAD_META_a.b": "dot", "NOMAD_META_A.B": "dot",
			"NOMAD_META_where": "linux/t", "NOMAD_META_k_c1": "by class", "NOMAD_META_K_C1": "by class",
			"NOMAD_META_foo": "lower", "NOMAD_META_FOO": "upper", "NOMAD_META_both": "dashdash",
			"NOMAD_META_who": "you", "NOMAD_META_why": "", "NOMAD_META_WHY": "",
			"NOMAD_META_secret": "${secret.s.k}", // only the env block has secrets
		})
	}
}

func TestEnvBlock(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		env      map[string]string
		want     map[string]string
		warnings []string
	}{
		{
			"node, identity, host, secret, unknown",
			map[string]string{"X": "${node.datacenter} ${meta.rack} ${attr.cpu.arch} ${NOMAD_JOB_ID} ${HOME} ${secret.s.k} ${nope}"},
			map[string]string{"X": "dc1 r7 amd64 web /root s3cret ${nope}"},
			[]string{"X refers to nope, which is not known, so ${nope} stays as text"},
		},
		{
			"both spellings of a port",
			map[string]string{"X": "${NOMAD_PORT_my-port} ${NOMAD_PORT_my_port} ${NOMAD_HOST_IP_my-port} ${NOMAD_HOST_IP_my_port}"},
			map[string]string{"X": "8080 8080 ::1 ${NOMAD_HOST_IP_my_port}"},
			[]string{"X refers to NOMAD_HOST_IP_my_port, which is not known, so ${NOMAD_HOST_IP_my_port} stays as text"},
		},
		{
			"itself is the value from before",
			map[string]string{"HOME": "${HOME}/x", "NEW": "${NEW}:y"},
			map[string]string{"HOME": "/root/x", "NEW": "${NEW}:y"},
			[]string{"NEW refers to NEW, which is not known, so ${NEW} stays as text"},
		},
		{
			"a chain of siblings",
			map[string]string{"C": "${B}3", "A": "1", "B": "${A}2"},
			map[string]string{"A": "1", "B": "12", "C": "123"},
			[]string{
				"B refers to A of the same block, which Nomad resolves only by chance",
				"C refers to B of the same block, which Nomad resolves only by chance",
			},
		},
		{
			"a sibling beats what it overrides",
			map[string]string{"A": "${HOME}", "HOME": "/h", "Z": "${SHLVL}", "SHLVL": "${SHLVL}${SHLVL}"},
			map[string]string{"A": "/h", "SHLVL": "11", "Z": "11"},
			[]string{
				"A refers to HOME of the same block, which Nomad resolves only by chance",
				"Z refers to SHLVL of the same block, which Nomad resolves only by chance",
			},
		},
		{
			"a circle stays, what leads into it does not",
			map[string]string{"A": "${B}a", "B": "${HOME}${C}b", "C": "${A}c", "D": "${A}d"},
			map[string]string{"A": "${B}a", "B": "/root${C}b", "C": "${A}c", "D": "${B}ad"},
			[]string{
				"A and B refer to each other, so ${B} stays as text",
				"B and C refer to each other, so ${C} stays as text",
				"C and A refer to each other, so ${A} stays as text",
				"D refers to A of the same block, which Nomad resolves only by chance",
			},
		},
		{
			"what was put in is not replaced again",
			map[string]string{"X": "${secret.s.tricky}"},
			map[string]string{"X": "${HOME}"},
			nil,
		},
		{
			"values of the node come first",
			map[string]string{"node.class": "mine", "X": "${node.class}"},
			map[string]string{"X": "c1", "node.class": "mine"},
			nil,
		},
		{
			"names are kept, but for those of ports and meta",
			map[string]string{"a-b": "1", "NOMAD_PORT_a-b": "2", "NOMAD_PORT_my-port": "3"},
			map[string]string{"a-b": "1", "NOMAD_PORT_a_b": "2", "NOMAD_PORT_my_port": "3", "NOMAD_PORT_a-b": "-"},
			nil,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			job, group, task := testJob()
			task.Env = tc.env
			b := testBuilder(job, group, task)
			b.HostEnv = []string{"HOME=/root", "SHLVL=1"}
			b.Ports = []Port{{Label: "my-port", Value: 8080, HostIP: "::1"}}
			b.SetSecrets(map[string]string{"secret.s.k": "s3cret", "secret.s.tricky": "${HOME}"})
			e := b.Build()
			expect(t, e, tc.want)
			var warnings []string
			for _, w := range e.Warnings() {
				warnings = append(warnings, w.String())
			}
			if diff := cmp.Diff(tc.warnings, warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHostAndHookVariables(t *testing.T) {
	t.Parallel()
	job, group, task := testJob()
	task.Env = map[string]string{"FROM_HOST": "${B}"}
	b := testBuilder(job, group, task).
		SetSecrets(map[string]string{"secret.s.k": "1"}).
		SetHookEnv("h1", map[string]string{"H": "${FROM_HOST}!"}).
		SetHookEnv("devices", map[string]string{"GPUS": "${H}0", "PLAIN": "p"})
	b.HostEnv = []string{"A=${B}", "B=${C}${NOMAD_TASK_NAME}", "C=c", "NOMAD_TASK_NAME=outer", "S=${secret.s.k}", "PS1=${debian_chroot:+x}"}
	b.TemplateEnv = map[string]string{"T": "${H}", "NOMAD_META_t-t": "1"}
	e := b.Build()
	expect(t, e, map[string]string{
		"A": "ct", "B": "ct", "C": "c", "NOMAD_TASK_NAME": "t", "S": "${secret.s.k}", "PS1": "${debian_chroot:+x}",
		"FROM_HOST": "ct", "H": "ct!", "GPUS": "ct!0", "PLAIN": "p", "T": "${H}", "NOMAD_META_t_t": "1",
	})
	if len(e.Warnings()) > 0 {
		t.Errorf("warnings for what no job says: %v", e.Warnings())
	}
}

// A meta key with a blank has a variable that no reference can name.
func TestReferenceToAMetaKeyWithABlank(t *testing.T) {
	t.Parallel()
	task := &api.Task{
		Name: "t",
		Meta: map[string]string{"x y": "blank", "a-b": "dash", "p q": "hidden", "p_q": "written"},
		Env:  map[string]string{"F": "${NOMAD_META_x_y} ${NOMAD_META_X_Y} ${NOMAD_META_a-b} ${NOMAD_META_a_b} ${NOMAD_META_p_q}"},
	}
	group := &api.TaskGroup{Name: new("g"), Tasks: []*api.Task{task}}
	job := &api.Job{ID: new("j"), TaskGroups: []*api.TaskGroup{group}}
	got := NewBuilder(testNode(), AllocInfo{ID: allocID, Name: "j.g[0]"}, job, group, task).Build().Map()
	if want := "${NOMAD_META_x_y} ${NOMAD_META_X_Y} dash dash written"; got["F"] != want {
		t.Errorf("F is %q, want %q", got["F"], want)
	}
	if got["NOMAD_META_x_y"] != "blank" || got["NOMAD_META_X_Y"] != "blank" {
		t.Errorf("the variables are %q and %q", got["NOMAD_META_x_y"], got["NOMAD_META_X_Y"])
	}
}
