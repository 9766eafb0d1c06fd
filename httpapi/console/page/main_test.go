package page_test

import (
	"testing"

	"go.uber.org/goleak"

	"linkledger/httpapi/branchtest"
	"linkledger/internal/pgserver/postgrestest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(branchtest.Main{Main: postgrestest.Main{M: m}})
}
