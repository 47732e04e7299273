package cmd

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// newDocsCommand writes the files that a package of taskrun contains besides
// the program.
func newDocsCommand() *cobra.Command {
	docs := &cobra.Command{Use: "docs", Short: "Generate documentation", Hidden: true}
	docs.AddCommand(&cobra.Command{
		Use:               "man DIR",
		Short:             "Write the man pages of all commands to a directory",
		Args:              arguments(1, 1),
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil }, // works with any configuration
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			root.DisableAutoGenTag = true // the same source gives the same pages
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "taskrun " + currentVersion().Version, Manual: "taskrun"}, args[0])
		},
	})
	return docs
}
