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
	deep := schema.Optional(cty.Bool, "deep")
	want := schema.Join(
		schema.Required(cty.String, "name"), schema.Optional(cty.String, "wait"),
		schema.Optional(cty.Bool, "on"), schema.Optional(cty.Number, "size"),
		schema.Optional(schema.Texts, "words"), schema.Optional(schema.TextMap, "labels"), schema.Optional(schema.PortMap, "ports"),
		hcldec.ObjectSpec{"options": &hcldec.BlockAttrsSpec{TypeName: "options", ElementType: cty.String}},
		schema.Block("one", deep), schema.Block("perhaps", deep), schema.Blocks("many", deep),
	)
	same := cmp.Comparer(func(a, b cty.Type) bool { return a.Equals(b) })
	if diff := cmp.Diff(want, schema.Of[block](), same); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
