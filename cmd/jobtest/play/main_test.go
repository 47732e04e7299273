package play_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/tools/txtar"

	"taskrun/cmd/bubble"
	"taskrun/cmd/jobtest"
	"taskrun/cmd/jobtest/play"
	"taskrun/drivers/catalog"
	"taskrun/drivers/process/keeper"
)

func TestMain(m *testing.M) {
	if keeper.Main(func(context.Context, string, string) error { return nil }) {
		return
	}
	if dir := os.Getenv(asPlayer); dir != "" {
		fmt.Fprintln(os.Stderr, playAlone(dir))
		os.Exit(1)
	}
	flag.Parse()
	if flag.Lookup("test.bench").Value.String() != "" {
		os.Exit(m.Run()) // package bubble keeps a goroutine
	}
	goleak.VerifyTestMain(m)
}

// stage is a folder with job files and tests, and a player.
type stage struct {
	testing.TB
	player *play.Player
	dir    string
}

// newStage writes the files of an archive.
func newStage(t testing.TB, files *txtar.Archive) *stage {
	t.Helper()
	s := &stage{t, play.New(play.Options{Drivers: catalog.New, Dir: t.TempDir()}), t.TempDir()}
	for _, f := range files.Files {
		if err := os.WriteFile(filepath.Join(s.dir, f.Name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// prepare reads a test file and prepares its runs.
func (s *stage) prepare(name string) (runs []*play.Prepared) {
	s.Helper()
	f, diagnostics := jobtest.Read(filepath.Join(s.dir, name))
	if diagnostics.HasErrors() {
		s.Fatal(diagnostics)
	}
	for _, run := range f.Runs {
		prepared, diagnostics, err := s.player.Prepare(context.Background(), f, run)
		if err != nil || prepared == nil {
			s.Fatal(diagnostics, err)
		}
		if found := f.Check(prepared.All()...); found.HasErrors() {
			s.Fatal(found)
		}
		runs = append(runs, prepared)
	}
	return runs
}

// play carries out a run in virtual time.
func (s *stage) play(run *play.Prepared, seed uint64) (o *jobtest.Outcome, err error) {
	s.Helper()
	enter(s.TB, func() { o, err = s.player.Play(context.Background(), run, seed) })
	s.close(o)
	return o, err
}

// enter calls a function in a bubble.
func enter(tb testing.TB, f func()) {
	switch t := tb.(type) {
	case *testing.T:
		synctest.Test(t, func(*testing.T) {
			<-time.After(time.Until(bubble.Begin))
			f()
		})
	default:
		tb.Fatal("a benchmark has no bubble")
	}
}

func (s *stage) close(o *jobtest.Outcome) {
	if o == nil {
		return
	}
	s.Cleanup(func() {
		if err := o.Close(); err != nil {
			s.Error(err)
		}
	})
}
