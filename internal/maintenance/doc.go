// Package maintenance has the operator commands on projections: status, pause, rebuild, verify and
// dead letters.
package maintenance
