// Package postgrestest gives tests a real PostgreSQL database of their own.
//
// One server runs per test process, started by the first test that asks. A
// package that uses it stops the server in TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(postgrestest.Run(m)) }
//
// or, to have goleak look for leaked goroutines after that:
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(postgrestest.Main{M: m}) }
//
// The binaries are found as [pgserver.Start] finds them, or in the folder that
// LINKLEDGER_POSTGRES_BIN names.
package postgrestest
