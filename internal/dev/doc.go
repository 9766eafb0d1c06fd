// Package dev runs everything in one process with one data folder: event store, private PostgreSQL
// and service.
package dev
