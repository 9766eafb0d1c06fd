// Package dimensions is the projection of the clicks by day and by dimension: referrer, country,
// browser, operating system and device.
package dimensions
