// Command linkledger-bench measures the real program from outside, over HTTP and gRPC, each figure
// beside a control that takes turns with it in the same run: a bare server, a bare statement, a
// bare COPY. What counts is the ratio of the two, because both meet the same machine. It reads
// memory from /proc, and so runs on Linux alone.
package main
