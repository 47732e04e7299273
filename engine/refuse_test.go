package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"taskrun/engine/health"
)

// expectError checks an error by a part of its message; "" stands for none.
func expectError(t *testing.T, name string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", name, err, want)
	}
}

// An update changes neither the type of a job nor whether it launches others.
func TestChecksOfTheKindOfAJob(t *testing.T) {
	t.Parallel()
	plain := &api.Job{Type: new("batch")}
	periodic := &api.Job{Type: new("batch"), Periodic: &api.PeriodicConfig{}}
	parameterized := &api.Job{Type: new("batch"), ParameterizedJob: &api.ParameterizedJobConfig{}}
	for name, tt := range map[string]struct {
		before, job *api.Job
		want        string
	}{
		"the same":              {plain, plain, ""},
		"periodic again":        {periodic, periodic, ""},
		"parameterized again":   {parameterized, parameterized, ""},
		"another type":          {plain, &api.Job{Type: new("service")}, `cannot update job from type "batch" to "service"`},
		"to periodic":           {plain, periodic, "cannot update non-periodic job to being periodic"},
		"from periodic":         {periodic, plain, "cannot update periodic job to being non-periodic"},
		"to parameterized":      {plain, parameterized, "cannot update non-parameterized job to being parameterized"},
		"from parameterized":    {parameterized, plain, "cannot update parameterized job to being non-parameterized"},
		"from one to the other": {periodic, parameterized, "cannot update periodic job to being non-periodic"},
	} {
		expectError(t, name, checkKind(tt.before, tt.job), tt.want)
	}
}

// A dispatch obeys the rules of its parameterized job for payloads and meta keys,
// to the byte.
func TestChecksOfADispatch(t *testing.T) {
	t.Parallel()
	full := make([]byte, maxPayload)
	required, forbidden := &api.ParameterizedJobConfig{Payload: "required"}, &api.ParameterizedJobConfig{Payload: "forbidden"}
	keys := &api.ParameterizedJobConfig{MetaRequired: []string{"must", "too"}, MetaOptional: []string{"may"}}
	for name, tt := range map[string]struct {
		job     *api.ParameterizedJobConfig
		payload []byte
		meta    map[string]string
		want    string
	}{
		"no payload where one is required":   {required, nil, nil, "Payload is not provided but required by parameterized job"},
		"a required payload":                 {required, full, nil, ""},
		"a payload where none may be":        {forbidden, []byte("x"), nil, "Payload provided but forbidden by parameterized job"},
		"no payload where none may be":       {forbidden, nil, nil, ""},
		"a payload that is too large":        {required, append(full, 0), nil, "Payload exceeds maximum size; 16385 > 16384"},
		"keys that are missing":              {keys, nil, map[string]string{"may": ""}, "Dispatch did not provide required meta keys: [must too]"},
		"keys that may not be":               {keys, nil, map[string]string{"must": "", "too": "", "b": "", "a": ""}, "Dispatch request included unpermitted metadata keys: [a b]"},
		"the keys that must be, and may be":  {keys, nil, map[string]string{"must": "", "too": "", "may": ""}, ""},
		"only the keys that are required":    {keys, nil, map[string]string{"must": "", "too": ""}, ""},
		"an optional payload, and no config": {&api.ParameterizedJobConfig{}, full, nil, ""},
	} {
		expectError(t, name, checkDispatch(tt.job, tt.payload, tt.meta), tt.want)
	}
}

// A count must suit the job, its scaling policy and its deployment; to record an
// event only a group is needed.
func TestChecksOfAScaling(t *testing.T) {
	t.Parallel()
	g := &api.TaskGroup{Name: new("g"), Scaling: &api.ScalingPolicy{Min: new(int64(2)), Max: new(int64(4))}}
	free := &api.TaskGroup{Name: new("g"), Scaling: &api.ScalingPolicy{}}
	active := &deploymentRecord{Deployment: &health.Deployment{Status: api.DeploymentStatusRunning}}
	over := &deploymentRecord{Deployment: &health.Deployment{Status: api.DeploymentStatusSuccessful}}
	for name, tt := range map[string]struct {
		jobType string
		group   *api.TaskGroup
		d       *deploymentRecord
		count   int64
		noCount bool
		want    string
	}{
		"no group":                 {"service", nil, nil, 3, false, `task group "g" specified for scaling does not exist in job`},
		"an event":                 {"system", g, active, 0, true, ""},
		"less than nothing":        {"service", free, nil, -1, false, "scaling action count can't be negative"},
		"nothing":                  {"service", free, nil, 0, false, ""},
		"a system job":             {"system", free, nil, 2, false, `jobs of type "system" can only be scaled between 0 and 1`},
		"no group of a system job": {"system", nil, nil, 2, false, `jobs of type "system" can only be scaled between 0 and 1`},
		"one of a system job":      {"system", free, nil, 1, false, ""},
		"none of a system job":     {"system", free, nil, 0, false, ""},
		"both":                     {"service", g, active, 5, false, "group count was greater than scaling policy maximum: 5 > 4"},
		"during a deployment":      {"service", g, active, 3, false, "job scaling blocked due to active deployment"},
		"after a deployment":       {"service", g, over, 3, false, ""},
		"less than the minimum":    {"service", g, nil, 1, false, "group count was less than scaling policy minimum: 1 < 2"},
		"the minimum":              {"service", g, nil, 2, false, ""},
		"the maximum":              {"service", g, nil, 4, false, ""},
		"more than the maximum":    {"service", g, nil, 5, false, "group count was greater than scaling policy maximum: 5 > 4"},
		"a group without a policy": {"service", &api.TaskGroup{}, nil, 100, false, ""},
	} {
		order := Scaling{Group: "g", Count: &tt.count}
		if tt.noCount {
			order.Count = nil
		}
		expectError(t, name, checkScaling(&api.Job{Type: &tt.jobType}, tt.group, tt.d, order), tt.want)
	}
}

// Orders for unknown jobs and allocations are errors.
func TestOrdersToTheUnknown(t *testing.T) {
	t.Parallel()
	e := New(Config{})
	_, stopErr := e.Handle("job").Stop(Deregistration{})
	_, registerErr := e.Register(Registration{Job: &api.Job{ID: new("job")}})
	_, deregisterErr := e.Handle("job").Deregister(Deregistration{})
	_, scaleErr := e.Handle("job").Scale(Scaling{})
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"stop an allocation":  {e.StopAlloc("alloc", AllocStop{}), `Unknown allocation "alloc"`},
		"renew an allocation": {e.Renew(t.Context(), "alloc", "t"), `Unknown allocation "alloc"`},
		"fail a deployment":   {e.Deployment("id").Fail(), "deployment not found"},
		"stop a job":          {stopErr, `"job"`},
		"register a job":      {registerErr, `job not found: "job"`},
		"deregister a job":    {deregisterErr, `"job"`},
		"scale a job":         {scaleErr, `"job"`},
	} {
		expectError(t, name, tt.err, tt.want)
	}
	if stopped, ended := e.Handle("job").Ending(); stopped || ended {
		t.Error("a job that is not known ends")
	}
}

// A job that is not launched again has no next launch.
func TestNextLaunch(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		enabled    bool
		cron, zone string
		want       string
		at         time.Time
	}{
		"every day":        {true, "30 13 * * *", "UTC", "", now.Add(90 * time.Minute)},
		"somewhere else":   {true, "30 13 * * *", "Europe/Berlin", "", now.Add(30 * time.Minute)},
		"disabled":         {false, "30 13 * * *", "UTC", "its periodic block is not enabled", time.Time{}},
		"an unknown zone":  {true, "30 13 * * *", "Nowhere", `cannot find time zone "Nowhere"`, time.Time{}},
		"not a time":       {true, "x", "UTC", "failed parsing cron expression", time.Time{}},
		"only in the past": {true, "0 0 0 1 1 * 2020", "UTC", "its cron expressions name no time to come", time.Time{}},
	} {
		p := &api.PeriodicConfig{Enabled: &tt.enabled, Specs: []string{tt.cron}, TimeZone: &tt.zone, SpecType: new(api.PeriodicSpecCron)}
		at, err := nextLaunch(p, now)
		expectError(t, name, err, tt.want)
		if !at.Equal(tt.at) {
			t.Errorf("%s: the next launch is at %v, want %v", name, at, tt.at)
		}
	}
}
