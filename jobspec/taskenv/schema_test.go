package taskenv

import (
	"time"

	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"
)

func attr(name string, ty cty.Type) *hcldec.AttrSpec {
	return &hcldec.AttrSpec{Name: name, Type: ty}
}

// scriptSchema has the shapes of drivers' schemas.
var scriptSchema = hcldec.ObjectSpec{
	"command": &hcldec.AttrSpec{Name: "command", Type: cty.String, Required: true},
	"args":    attr("args", cty.List(cty.String)),
	"run_for": attr("run_for", cty.String),
	"code":    attr("code", cty.Number),
	"tty":     attr("tty", cty.Bool),
	"labels":  attr("labels", cty.Map(cty.String)),
	"ulimit":  attr("ulimit", cty.List(cty.Map(cty.String))),
	"auth":    attr("auth", cty.Object(map[string]cty.Type{"user": cty.String})),
	"signal":  &hcldec.DefaultSpec{Primary: attr("signal", cty.String), Default: &hcldec.LiteralSpec{Value: cty.StringVal("SIGINT")}},
	"exec_command": &hcldec.BlockSpec{TypeName: "exec_command", Nested: hcldec.ObjectSpec{
		"run_for": attr("run_for", cty.String),
		"env":     attr("env", cty.Map(cty.String)),
	}},
	"mount": &hcldec.BlockListSpec{TypeName: "mount", Nested: hcldec.ObjectSpec{
		"target":  &hcldec.AttrSpec{Name: "target", Type: cty.String, Required: true},
		"options": attr("options", cty.Map(cty.String)),
	}},
	"sysctl": &hcldec.BlockAttrsSpec{TypeName: "sysctl", ElementType: cty.String},
}

type script struct {
	Command string              `cty:"command"`
	Args    []string            `cty:"args"`
	RunFor  time.Duration       `cty:"run_for"`
	Code    *int                `cty:"code"`
	TTY     bool                `cty:"tty"`
	Labels  map[string]string   `cty:"labels"`
	Ulimit  []map[string]string `cty:"ulimit"`
	Auth    cty.Value           `cty:"auth"`
	Signal  string              `cty:"signal"`
	Exec    *scriptExec         `cty:"exec_command"`
	Mounts  []scriptMount       `cty:"mount"`
	Sysctl  map[string]string   `cty:"sysctl"`
}

type scriptExec struct {
	RunFor time.Duration     `cty:"run_for"`
	Env    map[string]string `cty:"env"`
}

type scriptMount struct {
	Target  string            `cty:"target"`
	Options map[string]string `cty:"options"`
}
