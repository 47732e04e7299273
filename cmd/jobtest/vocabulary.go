package jobtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"taskrun/engine/leaf/event"
	"taskrun/jobspec/evaluate"
	functions "taskrun/jobspec/function"
)

// The types of the objects in conditions. All times are seconds since the beginning
// of the run, or null if it has not happened.
var (
	RunType = cty.Object(map[string]cty.Type{
		"name": cty.String, "mode": cty.String, "seed": cty.Number,
		"status": cty.String, "exit_code": cty.Number, "cause": cty.String, "duration": cty.Number,
	})
	EventType = cty.Object(map[string]cty.Type{
		"at": cty.Number, "type": cty.String, "message": cty.String, "details": cty.Map(cty.String),
		"alloc": cty.String, "number": cty.Number, "task": cty.String,
	})
	TaskType = cty.Object(map[string]cty.Type{
		"name": cty.String, "alloc": cty.String, "number": cty.Number,
		"state": cty.String, "failed": cty.Bool, "restarts": cty.Number,
		"exit_code": cty.Number, "signal": cty.Number, "oom_killed": cty.Bool,
		"start": cty.Number, "end": cty.Number,
		"env": cty.Map(cty.String), "stdout": cty.String, "stderr": cty.String,
		"events": cty.List(EventType),
	})
	AllocType = cty.Object(map[string]cty.Type{
		"name": cty.String, "number": cty.Number, "status": cty.String, "description": cty.String,
		"healthy": cty.Bool, "failed": cty.Bool, "replaced": cty.Bool,
		"start": cty.Number, "end": cty.Number, "tasks": cty.Map(TaskType),
	})
	ServiceType = cty.Object(map[string]cty.Type{
		"name": cty.String, "address": cty.String, "port": cty.Number, "tags": cty.List(cty.String), "alloc": cty.String,
	})
	CheckType = cty.Object(map[string]cty.Type{
		"service": cty.String, "name": cty.String, "status": cty.String, "output": cty.String, "target": cty.String, "alloc": cty.String,
	})
	DeploymentType = cty.Object(map[string]cty.Type{
		"job": cty.String, "status": cty.String, "description": cty.String, "version": cty.Number, "canarying": cty.Bool, "at": cty.Number,
	})
	ExecType = cty.Object(map[string]cty.Type{
		"exit_code": cty.Number, "stdout": cty.String, "stderr": cty.String,
	})
)

// lookup is a function that looks at the outcome of a run. All its arguments are
// strings.
type lookup struct {
	result      cty.Type
	least, most int // arguments
}

// lookups are those functions by name:
//
//	task("app[0]/server")           a task of the latest allocation app[0]
//	task("app[0]#1/server")         of the first one of that name; #2 replaced it
//	alloc("app[0]")                 an allocation, with its tasks
//	allocs("app")                   those of a group that nothing has replaced
//	event("app[0]/server", TYPE)    events of a task, in all allocations of that name
//	event("app[0]")                 all events of the allocations of that name
//	event("", "deployment")         events of the job as a whole
//	service("web")                  its instances that are registered in the end
//	check("web")                    of a service or check: what does not pass, if anything
//	check("app[0]/web")             of one allocation
//	port("app[0]/http")             the number of a port
//	deployment()                    the latest
//	file("app[0]/alloc/data/x")     a file of an allocation; "./x" is one beside the test
//	template("app[0]/server", "local/x")   what was rendered
//
// Where there is one allocation only, or the names differ, the first part of a
// name may be left out.
var lookups = map[string]lookup{
	"task": {TaskType, 1, 1}, "alloc": {AllocType, 1, 1}, "allocs": {cty.List(AllocType), 1, 1},
	"event":   {cty.List(EventType), 1, 2},
	"service": {cty.List(ServiceType), 1, 1}, "check": {CheckType, 1, 1}, "port": {cty.Number, 1, 1},
	"deployment": {DeploymentType, 0, 1}, "file": {cty.String, 1, 1}, "template": {cty.String, 2, 2},
}

// Answer looks at the outcome of a run: it does what a lookup function of that
// name does.
type Answer func(name string, args []string) (cty.Value, error)

// Values are the variables that conditions may refer to.
type Values struct {
	Run, Exec, Diagnostics cty.Value
}

// Scope returns what conditions of the run are evaluated in. It has a budget of its
// own, so each condition should have one. Besides the functions of job files there
// are duration("2m"), the seconds of a duration; strcontains, startswith, endswith,
// alltrue and anytrue, as in Terraform; and those that look at the outcome, which
// file() does unless the path begins with ./, ../ or /.
func (r *Run) Scope(answer Answer, values Values) *evaluate.Scope {
	scope := evaluate.NewScope(r.functions(answer), map[string][]byte{r.file.Path: r.file.Text})
	vars := map[string]cty.Value{}
	for name, v := range r.Variables {
		vars[name] = v.Value
	}
	scope.Define("var", cty.ObjectVal(vars))
	scope.Define("run", values.Run)
	scope.Define("exec", values.Exec)
	scope.Define("diagnostics", values.Diagnostics)
	return scope
}

// functions returns those of Nomad, a few that Nomad lacks under the names they
// have in Terraform, and the lookups.
func (r *Run) functions(answer Answer) map[string]function.Function {
	table := functions.Table(r.file.dir())
	maps.Copy(table, more)
	local := table["file"]
	for name, l := range lookups {
		table[name] = function.New(&function.Spec{
			VarParam: &function.Parameter{Name: "name", Type: cty.String},
			Type: func(args []cty.Value) (cty.Type, error) {
				if len(args) < l.least || len(args) > l.most {
					return cty.NilType, fmt.Errorf("%s() has %s", name, arguments(l))
				}
				return l.result, nil
			},
			Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
				if name == "file" && isLocal(args[0].AsString()) {
					return local.Call(args)
				}
				texts := make([]string, len(args))
				for i, arg := range args {
					texts[i] = arg.AsString()
				}
				return answer(name, texts)
			},
		})
	}
	return table
}

func arguments(l lookup) string {
	switch {
	case l.least == l.most && l.most == 1:
		return "1 argument"
	case l.least == l.most:
		return fmt.Sprintf("%d arguments", l.most)
	}
	return fmt.Sprintf("%d or %d arguments", l.least, l.most)
}

// isLocal reports whether a path is one of this machine, relative to the test
// file, and not one of an allocation.
func isLocal(path string) bool {
	return strings.HasPrefix(path, "./") || strings.HasPrefix(path, "../") || strings.HasPrefix(path, "/")
}

// more are functions that neither Nomad has nor look at a run.
var more = map[string]function.Function{
	"duration": function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Number),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			d, err := time.ParseDuration(args[0].AsString())
			if err != nil {
				return cty.NilVal, function.NewArgErrorf(0, `%q is not a duration such as "1m30s"`, args[0].AsString())
			}
			return Seconds(d), nil
		},
	}),
	"strcontains": ofTexts(strings.Contains),
	"startswith":  ofTexts(strings.HasPrefix),
	"endswith":    ofTexts(strings.HasSuffix),
	"alltrue":     ofBools(func(all []cty.Value) bool { return !slices.ContainsFunc(all, cty.Value.False) }),
	"anytrue":     ofBools(func(all []cty.Value) bool { return slices.ContainsFunc(all, cty.Value.True) }),
}

func ofTexts(f func(s, part string) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}, {Name: "part", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(f(args[0].AsString(), args[1].AsString())), nil
		},
	})
}

func ofBools(f func(all []cty.Value) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.List(cty.Bool)}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			all := args[0].AsValueSlice()
			for i, v := range all {
				if !v.IsKnown() {
					return cty.UnknownVal(cty.Bool), nil
				}
				if v.IsNull() {
					return cty.NilVal, function.NewArgErrorf(0, "element %d is null", i)
				}
			}
			return cty.BoolVal(f(all)), nil
		},
	})
}

// Seconds returns a time as conditions see it. It is exact: 95.2 seconds equal the
// number 95.2 of a condition.
func Seconds(d time.Duration) cty.Value {
	sign := ""
	if d < 0 {
		sign = "-"
	}
	whole, rest := d/time.Second, d%time.Second
	return cty.MustParseNumberVal(fmt.Sprintf("%s%d.%09d", sign, whole.Abs(), rest.Abs()))
}

// EventTypes are the types of events that conditions can use: those of tasks, in
// Nomad's words, and those of allocations and jobs.
var EventTypes = []string{
	api.TaskReceived, api.TaskSetup, api.TaskSetupFailure, api.TaskDownloadingArtifacts, api.TaskArtifactDownloadFailed,
	api.TaskFailedValidation, api.TaskDriverFailure, api.TaskDriverMessage, api.TaskStarted, api.TaskTerminated,
	api.TaskRestarting, api.TaskNotRestarting, api.TaskRestartSignal, api.TaskSignaling, api.TaskKilling, api.TaskKilled,
	api.TaskSiblingFailed, api.TaskLeaderDead,
	event.TaskMainDead, event.TaskFailedRestoring, event.TaskHookFailed, event.TaskHookMessage,
	event.TaskWaitingShutdownDelay, event.TaskSkippingShutdownDelay, event.TaskPausing, event.TaskResuming, "Alloc Unhealthy", "Template",
	"allocation", "health", "service", "check", "deployment",
}
