package drivers

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"
)

func TestSumUsage(t *testing.T) {
	t.Parallel()
	got := SumUsage(
		&api.ResourceUsage{
			MemoryStats: &api.MemoryStats{RSS: 1, Cache: 2, Swap: 3, Usage: 4, MaxUsage: 5, KernelUsage: 6, KernelMaxUsage: 7, Measured: []string{MeasuredRSS, MeasuredSwap}},
			CpuStats:    &api.CpuStats{SystemMode: 1, UserMode: 2, TotalTicks: 3, ThrottledPeriods: 4, ThrottledTime: 5, Percent: 6, Measured: []string{MeasuredPercent}},
			DeviceStats: []*api.DeviceGroupStats{{Name: "one"}},
		},
		&api.ResourceUsage{},
		&api.ResourceUsage{
			MemoryStats: &api.MemoryStats{RSS: 10, Cache: 20, Swap: 30, Usage: 40, MaxUsage: 50, KernelUsage: 60, KernelMaxUsage: 70, Measured: []string{MeasuredRSS, MeasuredCache}},
			CpuStats:    &api.CpuStats{SystemMode: 10, UserMode: 20, TotalTicks: 30, ThrottledPeriods: 40, ThrottledTime: 50, Percent: 60, Measured: []string{MeasuredPercent}},
			DeviceStats: []*api.DeviceGroupStats{{Name: "two"}},
		},
	)
	want := &api.ResourceUsage{
		MemoryStats: &api.MemoryStats{RSS: 11, Cache: 22, Swap: 33, Usage: 44, MaxUsage: 55, KernelUsage: 66, KernelMaxUsage: 77, Measured: []string{MeasuredRSS, MeasuredSwap, MeasuredCache}},
		CpuStats:    &api.CpuStats{SystemMode: 11, UserMode: 22, TotalTicks: 33, ThrottledPeriods: 44, ThrottledTime: 55, Percent: 66, Measured: []string{MeasuredPercent}},
		DeviceStats: []*api.DeviceGroupStats{{Name: "one"}, {Name: "two"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
