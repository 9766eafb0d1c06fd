// Command linkledger-bench measures the real program from outside, over HTTP and gRPC. Each
// measurement takes turns with a control in the same run: a bare server, a bare SQL statement or a
// bare COPY. The result is the ratio of the two, because both run on the same machine. The command
// reads memory from /proc, so it runs on Linux only.
package main
