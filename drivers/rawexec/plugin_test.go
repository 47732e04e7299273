package rawexec_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"taskrun/drivers"
	"taskrun/drivers/drivertest"
	"taskrun/drivers/rawexec"
)

// configured returns a driver with options, in HCL.
func configured(t *testing.T, options string) (*rawexec.Driver, error) {
	t.Helper()
	d := rawexec.New()
	return d, d.SetConfig(drivertest.Config(t, d.ConfigSchema(), options))
}

func TestParseIDRanges(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]rawexec.IDRanges{
		"":                    nil,
		"  ":                  nil,
		"0":                   {{First: 0, Last: 0}},
		"1, 10-20,4294967295": {{First: 1, Last: 1}, {First: 10, Last: 20}, {First: 4294967295, Last: 4294967295}},
		"7-7":                 {{First: 7, Last: 7}},
	} {
		if got, err := rawexec.ParseIDRanges(text); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"a":          `range bound not valid: "a"`,
		"1,":         `range bound not valid: ""`,
		"-5":         `range bound not valid: ""`,
		"1-":         `range bound not valid: ""`,
		"1-2-3":      `range bound not valid: "2-3"`,
		"4294967296": `range bound not valid: "4294967296"`,
		"9-8":        `lower bound cannot be greater than upper bound: "9-8"`,
	} {
		if got, err := rawexec.ParseIDRanges(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
}

func TestWrongPluginOptions(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]string{
		`denied_host_uids = "5-4"`: "denied_host_uids: lower bound cannot be greater than upper bound",
		`denied_host_gids = "x"`:   "denied_host_gids: range bound not valid",
	} {
		if _, err := configured(t, options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v", options, err)
		}
	}
}

func TestDisabled(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]drivers.HealthState{
		"":                drivers.HealthHealthy,
		"enabled = true":  drivers.HealthHealthy,
		"enabled = false": drivers.HealthUndetected,
	} {
		d, err := configured(t, options)
		if err != nil {
			t.Fatal(err)
		}
		ch, err := d.Fingerprint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := <-ch
		if got.Health != want || (want == drivers.HealthUndetected && (got.HealthDescription != "disabled" || len(got.Attributes) != 0)) {
			t.Errorf("with %q the fingerprint is %+v", options, got)
		}
	}
	f := newFixture(t, shell("exit 0"))
	f.configure("enabled = false")
	f.mustFail("raw_exec is disabled")
}

// configure sets the options of the fixture's driver, in HCL.
func (f *fixture) configure(options string) {
	f.Helper()
	if err := f.driver.SetConfig(drivertest.Config(f, f.driver.ConfigSchema(), options)); err != nil {
		f.Fatal(err)
	}
}

func TestDeniedIDs(t *testing.T) {
	t.Parallel()
	uid, gid := os.Geteuid(), os.Getegid()
	for options, want := range map[string]string{
		fmt.Sprintf(`denied_host_uids = "%d"`, uid):             fmt.Sprintf("running as uid %d is disallowed", uid),
		fmt.Sprintf(`denied_host_uids = "%d-%d"`, uid+1, uid+9): "",
		fmt.Sprintf(`denied_host_gids = "%d-%d"`, gid, gid):     fmt.Sprintf("with gid %d is disallowed", gid),
		`denied_host_uids = ""`:                                 "",
	} {
		t.Run(options, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, shell("exit 0"))
			f.configure(options)
			if want != "" {
				f.mustFail(want)
				return
			}
			f.start().result()
		})
	}
}

func TestDeniedIDsOfTheTasksUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can run a task as another user")
	}
	for options, denied := range map[string]bool{
		`denied_host_uids = "65534"`: true,
		`denied_host_gids = "65534"`: true,
		`denied_host_uids = "0"`:     false, // that is root, not the task's user
		`denied_host_gids = "0"`:     false,
	} {
		f := newFixture(t, "work_dir = \"/\"\n"+shell("exit 0"))
		f.cfg.User = "nobody"
		f.configure(options)
		if denied {
			f.mustFail("65534 is disallowed")
			continue
		}
		f.start().result()
	}
}

func TestDeniedEnvvarsOfThePlugin(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "command = \"env\"\ndenied_envvars = [\"B_*\"]\n")
	f.configure(`denied_envvars = ["A_*", "NOMAD_*"]`)
	f.cfg.Env["A_1"], f.cfg.Env["B_1"], f.cfg.Env["C_1"] = "x", "x", "x"
	delete(f.cfg.Env, "PATH")
	f.start().result()
	if got := strings.Fields(f.stdout()); !slices.Equal(got, []string{"C_1=x"}) {
		t.Errorf("the environment is %q", got)
	}
}
