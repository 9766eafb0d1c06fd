package write_test

import (
	"testing"

	"go.uber.org/goleak"

	"linkledger/internal/pgserver/postgrestest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Main{M: m}) }
