package process

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long anything may take.
const patience = 30 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
