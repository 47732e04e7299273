package validate

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hashicorp/nomad/api"
)

func (t *task) csiPlugin() {
	p := t.t.CSIPluginConfig
	if p == nil {
		return
	}
	at := t.at.Attr("csi_plugin")
	if p.ID == "" {
		t.refuse(at, "csi_plugin has no id", "", `add id = "NAME"`)
	}
	t.choice(at.Attr("type"), "plugin type", string(p.Type),
		string(api.CSIPluginTypeNode), string(api.CSIPluginTypeController), string(api.CSIPluginTypeMonolith))
	rel, err := filepath.Rel(p.MountDir, p.StagePublishBaseDir)
	if p.MountDir != "" && p.StagePublishBaseDir != "" && err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
		t.refuse(at.Attr("stage_publish_base_dir"), "stage_publish_base_dir lies in mount_dir",
			fmt.Sprintf("%q is below %q", p.StagePublishBaseDir, p.MountDir), "write another directory")
	}
}
