// Package faultydisk mounts a folder on a disk that fails when a test says so: with input/output
// errors, as a file system that turned read-only, or with syncs or reads that fail. It needs root
// and FUSE.
//
// The disk lives in a process of its own, which is the test program started again. A file system in
// the process of its user can stop that process for good. The TestMain of a package that mounts
// disks MUST call Serve first.
package faultydisk
