package process

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience limits every wait.
const patience = 30 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
