package deadletter_test

import (
	"testing"

	"linkledger/projections/projectionstest"
)

func TestMain(m *testing.M) { projectionstest.Main(m) }
