package taskenv

import (
	"maps"
	"testing"
)

func TestCleanName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"NOMAD_PORT_my-port":       "NOMAD_PORT_my_port",
		"NOMAD_HOST_PORT_my-port":  "NOMAD_HOST_PORT_my_port",
		"NOMAD_ADDR_a b":           "NOMAD_ADDR_a_b",
		"NOMAD_IP_t_l:1":           "NOMAD_IP_t_l_1",
		"NOMAD_META_a.b":           "NOMAD_META_a.b",
		"NOMAD_META_ü":             "NOMAD_META___",
		"NOMAD_META_1":             "NOMAD_META_1",
		"NOMAD_HOST_IP_my-port":    "NOMAD_HOST_IP_my-port",
		"NOMAD_HOST_ADDR_my-port":  "NOMAD_HOST_ADDR_my-port",
		"NOMAD_ALLOC_PORT_my-port": "NOMAD_ALLOC_PORT_my-port",
		"NOMAD_TOKEN_my-id":        "NOMAD_TOKEN_my-id",
		"MY-VAR":                   "MY-VAR",
		"":                         "",
	} {
		if got := CleanName(in); got != want {
			t.Errorf("CleanName(%q) = %q, want %q", in, got, want)
		}
	}
	if got := clean("1st-db"); got != "_st_db" {
		t.Errorf(`clean("1st-db") = %q`, got)
	}
}

func TestCleanNamesSettlesClashes(t *testing.T) {
	t.Parallel()
	block := map[string]string{"NOMAD_META_a-b": "1", "NOMAD_META_a_b": "2", "NOMAD_META_a b": "3"}
	for range 20 { // the order of maps is random
		if got := cleanNames(block)["NOMAD_META_a_b"]; got != "2" {
			t.Fatalf("got %q", got)
		}
	}
	if len(block) != 3 {
		t.Error("the block was changed")
	}
}

func TestAllowed(t *testing.T) {
	t.Parallel()
	got := maps.Collect(allowed([]string{
		"PATH=/bin", "EQ=a=b", "EMPTY=", "junk", "=C:=x",
		"NOMAD_TOKEN=s", "VAULT_TOKEN=s", "AWS_SECRET_ACCESS_KEY=s", "CONSUL_HTTP_TOKEN_FILE=s",
		"NOMAD_TOKEN_FILE=kept", "aws_secret_access_key=kept",
	}))
	want := map[string]string{
		"PATH": "/bin", "EQ": "a=b", "EMPTY": "",
		"NOMAD_TOKEN_FILE": "kept", "aws_secret_access_key": "kept",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
