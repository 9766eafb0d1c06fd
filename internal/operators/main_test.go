package operators_test

import (
	"testing"

	"linkledger/httpapi/httpapitest"
)

func TestMain(m *testing.M) { httpapitest.Main(m) }
