package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

// Texts that need much memory, or contain nulls that would be dereferenced, are
// refused before that.
func TestTooManyJobs(t *testing.T) {
	t.Parallel()
	f := serveUnderFire(t)
	wrap := func(groups string) string { return `{"Job":{"ID":"job","TaskGroups":[` + groups + `]}}` }
	task := func(fields string) string { return wrap(`{"Name":"g","Tasks":[{"Name":"t",` + fields + `}]}`) }
	many := func(what string, n int) string { return strings.Repeat(what+",", n) + what }
	for name, c := range map[string]struct{ body, want string }{
		"too long":      {`{"Job":{"ID":"` + strings.Repeat("x", 9<<20) + `"}}`, "http: request body too large"},
		"not whole":     {`{"Job":{"ID":"x"`, "unexpected end of JSON input"},
		"empty":         {"", "Request body is empty"},
		"two":           {`{"Job":{"ID":"x"}} {}`, "invalid character '{' after top-level value"},
		"deep":          {task(`"Config":{"a":` + strings.Repeat("[", 50_000) + `}`), "exceeded max depth"},
		"many groups":   {wrap(many("{}", 200_000)), "the job is too large"},
		"many numbers":  {task(`"Config":{"a":[` + many("1", 1_100_000) + `]}`), "the job is too large"},
		"ten thousand":  {wrap(many("{}", 11_000)), "the job has 11001 groups and tasks: 10000 are the most"},
		"null group":    {wrap("null"), "null is not a value of the job's TaskGroups[0]"},
		"null task":     {wrap(`{"Tasks":[null]}`), "null is not a value of the job's TaskGroups[0].Tasks[0]"},
		"null check":    {task(`"Services":[{"Checks":[]},null]`), "null is not a value of the job's TaskGroups[0].Tasks[0].Services[1]"},
		"null volume":   {wrap(`{"Volumes":{"v":null}}`), `null is not a value of the job's TaskGroups[0].Volumes["v"]`},
		"many services": {task(`"Services":[` + many("{}", 5_000) + `]`), " more"},
		"of no kind":    {`[]`, "cannot unmarshal array"},
	} {
		for _, path := range []string{"/v1/validate/job", "/v1/job/job/plan", "/v1/jobs"} {
			resp := f.do("PUT", path, strings.NewReader(c.body))
			body := readAll(t, resp.Body)
			unescaped := strings.ReplaceAll(body, `\"`, `"`)
			if !strings.Contains(unescaped, c.want) || len(body) > 64<<10 || path != "/v1/validate/job" && resp.StatusCode < 400 {
				t.Errorf("%s, %s: %d %.300q, want %q", name, path, resp.StatusCode, body, c.want)
			}
		}
	}
	for name, hcl := range map[string]string{
		"too long":  strings.Repeat("#", 1<<20+1),
		"deep":      `job "x" { meta { a = ` + strings.Repeat("[", 500_000) + ` } }`,
		"doubling":  "locals {\n a0 = \"aaaaaaaa\"\n" + doubling(40) + "}\njob \"x\" { name = local.a40 }",
		"a range":   `job "x" { meta { a = jsonencode(range(1e9)) } }`,
		"no text":   "\x00\xff\xfe",
		"a fortune": `job "x" { meta { a = bcrypt("a", 31) } }`,
	} {
		if _, err := f.client.Jobs().ParseHCL(hcl, true); err == nil || !strings.Contains(err.Error(), "400 (Failed to parse job: ") {
			t.Errorf("%s: %.300v", name, err)
		}
	}
	f.undisturbed()
}

func doubling(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " a%d = \"${local.a%d}${local.a%d}\"\n", i+1, i, i)
	}
	return b.String()
}
