package port_test

import (
	"errors"
	"testing"

	"taskrun/engine/port"
)

func TestReserves(t *testing.T) {
	t.Parallel()
	r := port.Rules{Reserved: "22, 8000-8100,x,9-,-7"}
	for number, want := range map[int]bool{22: true, 23: false, 7999: false, 8000: true, 8100: true, 8101: false, 9: false, 7: false, 0: false} {
		if got := r.Reserves(number); got != want {
			t.Errorf("%d: %v", number, got)
		}
	}
	if (port.Rules{}).Reserves(0) {
		t.Error("no rules reserve a port")
	}
}

// A reserved port is neither chosen nor granted on request.
func TestRulesOfClaims(t *testing.T) {
	t.Parallel()
	number := unused(t)
	rules := port.Rules{First: number, Last: number + 1, Reserved: "1,2"}
	if first, last := rules.Range(); first != number || last != number+1 {
		t.Errorf("range %d to %d", first, last)
	}
	for _, r := range []port.Rules{{First: 40000}, {Last: 100}} {
		if first, last := r.Range(); first > last {
			t.Errorf("%+v: %d to %d", r, first, last)
		}
	}
	c := port.NewLogical()
	c.Obey(rules)
	first, err := c.Dynamic("a", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.Dynamic("b", 0, nil)
	if err != nil || first+second != 2*number+1 {
		t.Errorf("%d and %d, %v", first, second, err)
	}
	if third, err := c.Dynamic("c", 0, nil); err == nil {
		t.Errorf("a third one: %d", third)
	}
	if again, err := c.Dynamic("d", 2, nil); err == nil {
		t.Errorf("a reserved one that was wanted: %d", again)
	}
	real := port.NewClaims("")
	real.Obey(rules)
	if err := real.Static(2, "e"); !errors.Is(err, port.ErrInUse) {
		t.Errorf("a reserved static port: %v", err)
	}
}
