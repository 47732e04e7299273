package lookup

import (
	"strings"

	"taskrun/cmd/exit"
	"taskrun/drivers"
)

// Signal returns Nomad's name of the signal that a user names.
func Signal(name string) (string, error) {
	signal := strings.ToUpper(name)
	if !strings.HasPrefix(signal, "SIG") {
		signal = "SIG" + signal
	}
	if _, err := drivers.ParseSignal(signal); err != nil {
		return "", exit.Usage("unknown signal %q", name).WithHint("signals are: %s", strings.Join(drivers.SignalNames(), ", "))
	}
	return signal, nil
}
