package process

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience limits every wait.
const patience = time.Minute

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
