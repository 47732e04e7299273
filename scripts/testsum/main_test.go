package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The recorded run has a package with a failed and a skipped test, one with a
// timeout, one that did not build and one without tests.
func TestSummaryOfARecordedRun(t *testing.T) {
	t.Parallel()
	events, err := os.Open("testdata/events.json")
	if err != nil {
		t.Fatal(err)
	}
	defer events.Close()
	want, err := os.ReadFile("testdata/summary.txt")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	sum := newSummary(&got)
	if err := sum.read(events); err != nil {
		t.Fatal(err)
	}
	if sum.close() {
		t.Error("close says that all is well")
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

func TestEmptySummaryFails(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if newSummary(&out).close() {
		t.Error("close says that all is well")
	}
	if got, want := out.String(), "0 passed, 0 failed, 0 skipped\n"; got != want {
		t.Errorf("summary %q, want %q", got, want)
	}
}

func TestSummaryCountsTestsByWord(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	sum := newSummary(&got, "docker")
	err := sum.read(strings.NewReader(`{"Action":"pass","Package":"x/docker","Test":"TestA"}
{"Action":"skip","Package":"x","Test":"TestJourneys/docker"}
{"Action":"pass","Package":"x","Test":"TestB"}
`))
	if err != nil || !sum.close() {
		t.Errorf("it is not well: %v", err)
	}
	if !strings.Contains(got.String(), "docker: 1 passed, 0 failed, 1 skipped\n2 passed, 0 failed, 1 skipped\n") {
		t.Errorf("it says %q", got.String())
	}
}
