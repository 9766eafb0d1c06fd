// Package dev runs everything in one process on one data folder: event store, private PostgreSQL
// and service.
package dev
