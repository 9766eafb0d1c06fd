// Package status says how projections are doing: as this process knows it, and as the database and
// the log know it.
package status
