package decode

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"taskrun/jobspec/diagnostic"
)

func missingAttribute(name, where string, at hcl.Range) *hcl.Diagnostic {
	return diagnostic.Error(at, fmt.Sprintf("%q is missing in %s", name, where), "", fmt.Sprintf("add %s = …", name))
}

func duplicateBlock(in instance, first hcl.Range) *hcl.Diagnostic {
	return diagnostic.Error(in.header, fmt.Sprintf("%q is given twice", in.name),
		fmt.Sprintf("only one is allowed here; the first is on line %d", first.Start.Line), "")
}

func shadowedLabel(in instance, name string, first hcl.Range) *hcl.Diagnostic {
	return diagnostic.Warning(in.header, fmt.Sprintf("%s %q is given twice", in.name, name),
		fmt.Sprintf("this one takes the place of the one on line %d", first.Start.Line), "rename one of them, or delete it")
}

func shadowedAttribute(a attribute, header hcl.Range) *hcl.Diagnostic {
	return diagnostic.Warning(a.at, fmt.Sprintf("%q is given as an attribute and as a block", a.name),
		fmt.Sprintf("the block on line %d takes its place", header.Start.Line), "delete one of them")
}

func missingLabel(b block) *hcl.Diagnostic {
	return diagnostic.Error(b.open, fmt.Sprintf("this %s has no name", b.name), "",
		fmt.Sprintf(`write %s "name" {`, b.name))
}

func extraLabel(b block, want int) *hcl.Diagnostic {
	detail := fmt.Sprintf("a %s block has one name", b.name)
	if want == 0 {
		detail = fmt.Sprintf("a %s block has no name", b.name)
	}
	return diagnostic.Error(b.labels[want].at, fmt.Sprintf("%q is not expected after %s", b.labels[want].text, b.name), detail, "delete it")
}

func blockInMap(b block, name string) *hcl.Diagnostic {
	return diagnostic.Error(b.header, fmt.Sprintf("unknown block %q in %s", b.name, name),
		fmt.Sprintf("%s holds attributes only", name), "")
}

func cannotIterate(v cty.Value, at hcl.Range) *hcl.Diagnostic {
	return diagnostic.Error(at, "for_each must be a list, a set, a map or an object", "it is "+diagnostic.Describe(v), "")
}
