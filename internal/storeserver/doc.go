// Package storeserver runs the embedded event store on an address. It also looks after stores in
// folders: stat, check and backup, whether the store runs or not.
package storeserver
