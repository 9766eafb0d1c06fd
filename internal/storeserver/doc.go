// Package storeserver runs the embedded event store on an address. It also runs stat, check and
// backup on the folder of a store, whether the store runs or not.
package storeserver
