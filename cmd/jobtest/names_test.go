package jobtest_test

import (
	"testing"

	"taskrun/cmd/jobtest"
	"taskrun/engine/fold"
	"taskrun/engine/leaf/event"
	"taskrun/jobspec"
)

// TestNames looks names up in a job with three groups. The error for a wrong name
// lists the valid ones.
func TestNames(t *testing.T) {
	t.Parallel()
	file, diagnostics := jobspec.Parse(jobspec.Source{Name: "web.nomad.hcl", Text: []byte(`
job "web" {
  group "app" {
    count = 5
    network {
      port "http" {}
      port "admin" { static = 8080 }
    }
    service {
      name     = "${NOMAD_JOB_NAME}-web"
      port     = "http"
      provider = "nomad"
      check {
        name     = "a/live"
        type     = "tcp"
        interval = "10s"
        timeout  = "2s"
      }
    }
    task "server" {
      driver = "docker"
      config { image = "web" }
      template {
        data        = "x"
        destination = "${NOMAD_TASK_DIR}/${NOMAD_JOB_NAME}.conf"
      }
      template {
        data        = "x"
        destination = "./fixed"
      }
    }
    task "log" {
      driver = "docker"
      config { image = "log" }
    }
  }
  group "db" {
    network {
      port "sql" {}
      port "admin" {}
    }
    task "sql" {
      driver = "docker"
      config { image = "db" }
    }
    task "log" {
      driver = "docker"
      config { image = "log" }
      service {
        name     = "logs"
        port     = "sql"
        provider = "nomad"
      }
    }
  }
  group "pair" {
    count = 2
    task "twin" {
      driver = "docker"
      config { image = "twin" }
    }
  }
}`)}, jobspec.Options{})
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics)
	}
	file.Job.Canonicalize()
	n := jobtest.NamesOf(file.Job, file.Job)
	n.Add(&fold.Alloc{Alloc: &event.Alloc{Group: "old", Name: "web.old[1]"}, Tasks: []*fold.Task{{Name: "gone"}}})
	one := func(f func(string) (jobtest.Place, *jobtest.NameError)) func(string) (jobtest.Place, string, *jobtest.NameError) {
		return func(text string) (jobtest.Place, string, *jobtest.NameError) {
			p, err := f(text)
			return p, "", err
		}
	}
	none := func(f func(string) *jobtest.NameError) func(string) (jobtest.Place, string, *jobtest.NameError) {
		return one(func(text string) (jobtest.Place, *jobtest.NameError) { return jobtest.Place{}, f(text) })
	}
	task, alloc, any, several := one(n.Task), one(n.Alloc), one(n.Any), one(n.Several)
	job, group, service := none(n.Job), none(n.Group), none(n.Service)
	server := func(destination string) (jobtest.Place, string, *jobtest.NameError) {
		return n.Template("app[4]/server", destination)
	}
	nowhere := jobtest.Place{}
	for _, tt := range []struct {
		find func(string) (jobtest.Place, string, *jobtest.NameError)
		text string
		want jobtest.Place
		part string
		err  string
	}{
		{task, "sql", jobtest.Place{Group: "db", Task: "sql"}, "", ""},
		{task, "app[4]/server", jobtest.Place{Group: "app", Index: 4, Task: "server"}, "", ""},
		{task, "app[1]#3/server", jobtest.Place{Group: "app", Index: 1, Number: 3, Task: "server"}, "", ""},
		{task, "old[1]/gone", jobtest.Place{Group: "old", Index: 1, Task: "gone"}, "", ""},
		{task, "log", nowhere, "", `"log" is ambiguous; it may be app/log, db/log`},
		{task, "server", nowhere, "", `"server" is ambiguous; it may be app[0]/server, app[1]/server, app[2]/server, …`},
		{task, "twin", nowhere, "", `"twin" is ambiguous; it may be pair[0]/twin, pair[1]/twin`},
		{task, "db[1]/sql", nowhere, "", `there is no allocation "db[1]"; group "db" has 1 allocation`},
		{task, "app[5]/server", nowhere, "", `there is no allocation "app[5]"; group "app" has 5 allocations`},
		{task, "app[0]/sever", nowhere, "", `there is no task "app[0]/sever"; did you mean "app[0]/server"?`},
		{task, "none/x", nowhere, "", `there is no task "none/x"`},
		{task, "app[0]", nowhere, "", `"app[0]" is an allocation, not a task`},
		{task, "app[0]/", nowhere, "", `there is no task or allocation "app[0]/"; did you mean "app[0]"?`},
		{task, "a]/x", nowhere, "", `there is no task or allocation "a]/x"`},
		{alloc, "db", jobtest.Place{Group: "db"}, "", ""},
		{alloc, "db#2", jobtest.Place{Group: "db", Number: 2}, "", ""},
		{alloc, "db#0", nowhere, "", `"db#0" has no number 0; the first allocation of a name is #1`},
		{alloc, "pair", nowhere, "", `"pair" is ambiguous; it may be pair[0], pair[1]`},
		{alloc, "db/sql", nowhere, "", `"db/sql" is a task, not an allocation; write "db[0]"`},
		{alloc, "none[0]", nowhere, "", `there is no task or allocation "none[0]"`},
		{any, "db", jobtest.Place{Group: "db"}, "", ""},
		{any, "sql", jobtest.Place{Group: "db", Task: "sql"}, "", ""},
		{any, "none", nowhere, "", `there is no task or allocation "none"; did you mean "gone"?`},
		{several, "log", jobtest.Place{Task: "log"}, "", ""},
		{several, "app", jobtest.Place{Group: "app"}, "", ""},
		{several, "app[9]", nowhere, "", `there is no allocation "app[9]"; group "app" has 5 allocations`},
		{several, "app[0]#2/log", nowhere, "", `"app[0]#2/log" names one of several allocations by number; only conditions can; write "app[0]/log"`},
		{n.Port, "http", nowhere, "http", `"app" is ambiguous; it may be app[0], app[1], app[2], …`},
		{n.Port, "sql", jobtest.Place{Group: "db"}, "sql", ""},
		{n.Port, "app[3]/http", jobtest.Place{Group: "app", Index: 3}, "http", ""},
		{n.Port, "admin", nowhere, "", `port "admin" is ambiguous; it may be app/admin, db/admin`},
		{n.Port, "app[3]/sql", nowhere, "", `there is no port "sql"; there is admin, http`},
		{n.Port, "app[7]/http", nowhere, "", `there is no allocation "app[7]"; group "app" has 5 allocations`},
		{n.Port, "none", nowhere, "", `there is no port "none"; there is admin, http, sql`},
		{n.Check, "a/live", nowhere, "a/live", ""},
		{n.Check, "app[2]/a/live", jobtest.Place{Group: "app", Index: 2}, "a/live", ""},
		{n.Check, "db/a/live", nowhere, "", `there is no check or service "a/live"; there is logs`},
		{n.Check, "any-web", nowhere, "any-web", ""},
		{n.Check, "logs", nowhere, "logs", ""},
		{service, "any-web", nowhere, "", ""},
		{service, "any-webs", nowhere, "", `there is no service "any-webs"; there is ${NOMAD_JOB_NAME}-web, logs`},
		{service, "a/live", nowhere, "", `there is no service "a/live"; there is ${NOMAD_JOB_NAME}-web, logs`},
		{n.File, "alloc/data/x", nowhere, "", `"alloc/data/x" belongs to no allocation; write "app[0]/alloc/data/x"`},
		{n.File, "db[0]/alloc/data/x", jobtest.Place{Group: "db"}, "alloc/data/x", ""},
		{n.File, "db#2/sql/local/x", jobtest.Place{Group: "db", Number: 2}, "sql/local/x", ""},
		{n.File, "db[2]/sql/local/x", nowhere, "", `there is no allocation "db[2]"; group "db" has 1 allocation`},
		{n.File, "db[0]/data/x", nowhere, "", `there is no "data" in the directory of an allocation; it has alloc, sql, log`},
		{server, "fixed", jobtest.Place{Group: "app", Index: 4, Task: "server"}, "fixed", ""},
		{server, "${NOMAD_TASK_DIR}/web.conf", jobtest.Place{Group: "app", Index: 4, Task: "server"}, "local/web.conf", ""},
		{server, "local/web.config", nowhere, "", `there is no template of task "server" with the destination "local/web.config"; there is local/${NOMAD_JOB_NAME}.conf, fixed`},
		{job, "", nowhere, "", ""},
		{job, "web", nowhere, "", ""},
		{job, "none", nowhere, "", `there is no job "none"; there is web`},
		{group, "db", nowhere, "", ""},
		{group, "none", nowhere, "", `there is no group "none"; there is app, db, pair, old`},
	} {
		p, part, err := tt.find(tt.text)
		switch {
		case err != nil && (tt.err == "" || err.Error() != tt.err), err == nil && tt.err != "":
			t.Errorf("%q: %v, want %q", tt.text, err, tt.err)
		case err == nil && (p != tt.want || part != tt.part):
			t.Errorf("%q: %+v, %q, want %+v, %q", tt.text, p, part, tt.want, tt.part)
		}
	}
}
