// Package postgrestest gives tests a real PostgreSQL database of their own.
//
// One server runs per test process. The first call of NewDatabase starts it. A
// package that uses it MUST stop the server in TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(postgrestest.Run(m)) }
//
// or, to let goleak find leaked goroutines after that:
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Main{M: m}) }
//
// The binaries are found as [pgserver.Start] finds them, or in the folder that
// LINKLEDGER_POSTGRES_BIN names.
package postgrestest
