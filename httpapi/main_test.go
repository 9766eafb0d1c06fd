package httpapi_test

import (
	"testing"

	"linkledger/httpapi/branchtest"

	"go.uber.org/goleak"

	"linkledger/internal/pgserver/postgrestest"
	"linkledger/internal/soak"
)

func TestMain(m *testing.M) {
	soak.Checks(10, 100)
	goleak.VerifyTestMain(branchtest.Main{Main: postgrestest.Main{M: m}})
}
