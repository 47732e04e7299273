package schema_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/zclconf/go-cty/cty"

	"taskrun/drivers/schema"
)

type inner struct {
	Deep bool `cty:"deep"`
}

type embedded struct {
	Size int64 `cty:"size"`
}

type block struct {
	embedded
	Name     string              `cty:"name" required:"true"`
	Wait     time.Duration       `cty:"wait"`
	On       *bool               `cty:"on"`
	Any      cty.Value           `cty:"any"`
	Words    []string            `cty:"words"`
	Labels   []map[string]string `cty:"labels"`
	Ports    []map[string]int    `cty:"ports"`
	Options  map[string]string   `cty:"options"`
	One      inner               `cty:"one"`
	Perhaps  *inner              `cty:"perhaps"`
	Many     []inner             `cty:"many"`
	internal string
}

// TestOf checks each kind of field.
func TestOf(t *testing.T) {
	t.Parallel()
	_ = block{}.internal // has no option
	option := func(name string, ty cty.Type) *hcldec.AttrSpec { return &hcldec.AttrSpec{Name: name, Type: ty} }
	deep := hcldec.ObjectSpec{"deep": option("deep", cty.Bool)}
	want := hcldec.ObjectSpec{
		"name":    &hcldec.AttrSpec{Name: "name", Type: cty.String, Required: true},
		"wait":    option("wait", cty.String),
		"on":      option("on", cty.Bool),
		"size":    option("size", cty.Number),
		"any":     option("any", cty.DynamicPseudoType),
		"words":   option("words", cty.List(cty.String)),
		"labels":  option("labels", cty.List(cty.Map(cty.String))),
		"ports":   option("ports", cty.List(cty.Map(cty.Number))),
		"options": &hcldec.BlockAttrsSpec{TypeName: "options", ElementType: cty.String},
		"one":     &hcldec.BlockSpec{TypeName: "one", Nested: deep},
		"perhaps": &hcldec.BlockSpec{TypeName: "perhaps", Nested: deep},
		"many":    &hcldec.BlockListSpec{TypeName: "many", Nested: deep},
	}
	same := cmp.Comparer(func(a, b cty.Type) bool { return a.Equals(b) })
	if diff := cmp.Diff(want, schema.Of[block](), same); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
