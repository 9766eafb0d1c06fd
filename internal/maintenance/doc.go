// Package maintenance watches and steers the projections for operators: status, pause, rebuild,
// verify and dead letters.
package maintenance
