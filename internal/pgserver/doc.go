// Package pgserver runs a private PostgreSQL server from the binaries of this
// machine, for the read models of a small installation.
//
// The server listens on a Unix socket in a folder that only its own user may
// enter, never on TCP, so neither a taken port nor a password matters. It ends
// together with the process that started it, also when that process is killed.
// The next start waits for the end of an earlier server.
//
// One data folder holds everything:
//
//	cluster/  the PostgreSQL data directory; its postgresql.conf may be edited
//	cluster-15/  a cluster that PostgreSQL 15 has made, set aside when another version replaced it
//	socket    the socket folder (a link into the temporary folder if the path is too long)
//	lock      held by the process that runs the server
//
// PostgreSQL refuses to run as root. A server that root starts runs as the user that owns the
// cluster, else as postgres, else as nobody, without any right of root. If that user cannot enter a
// folder above the data, the server gets the data folder as an open file.
package pgserver
